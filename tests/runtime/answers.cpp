// What generate says, and what a stop leaves of it.

#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

TEST(Answers, AStoppedAnswerGoesOnWithoutTheSeed) {
  const ModelPointer model = tiny_model();
  const auto prompt = question(model, "Tell me a story about a fox.");
  GenerateOptions options{.max_tokens = 30, .sampler = {.temperature = 1.5F, .seed = 5}};
  std::string whole;
  std::string pieces;
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(session->generate(options, [&](std::string_view t) { whole += t; }, {}).done());

  session = new_session(model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  StopSource source;
  int delivered = 0;
  const auto take = [&](std::string_view piece) {
    pieces += piece;
    if (++delivered == 5) source.request_stop();
  };
  const Outcome stopped = session->generate(options, take, source.token());
  ASSERT_TRUE(stopped.stopped());
  options.sampler.seed.reset();
  options.max_tokens -= stopped.tokens;
  ASSERT_TRUE(session->generate(options, take, {}).done());
  EXPECT_EQ(pieces, whole);
}

TEST(Answers, GenerateLosesOnlyTheTokenInFlight) {
  const ModelPointer model = tiny_model();
  const auto prompt = question(model, "Tell me a story about a fox.");
  const std::string whole = answer(model, prompt, 0);
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  std::string text;
  int pieces = 0;
  for (;;) {
    StopSource source;
    const Outcome outcome = session->generate(
        {},
        [&](std::string_view piece) {
          text += piece;
          if (++pieces % 3 == 0) source.request_stop();
        },
        source.token());
    if (!outcome.stopped()) break;
    EXPECT_EQ(outcome.reason, StopReason::requested);
  }
  EXPECT_EQ(text, whole);
}

/// Where the most likely tokens are enough, only they leave the device: the answer is that of all.
TEST(Answers, AreThoseOfAllLogits) {
  const ModelPointer model = tiny_model();
  const auto prompt = question(model, "Tell me a story about a fox.");
  const SamplerOptions cases[] = {
      {},
      {.repeat_penalty = 1.3F},
      {.temperature = 1.5F, .top_k = 40},
      {.temperature = 2, .top_k = 100, .top_p = 0.9F, .min_p = 0.01F},
      {.temperature = 3, .top_k = 64, .repeat_penalty = 2, .repeat_last = 64}};
  for (const SamplerOptions& options : cases) {
    Sampler sampler(model->config().vocabulary);
    auto session = new_session(model), by_hand = new_session(model);
    ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
    ASSERT_TRUE(by_hand->evaluate(prompt, {}, {}).done());
    RandomState random = session->random();
    const Outcome outcome = session->generate({.max_tokens = 40, .sampler = options}, {}, {});
    ASSERT_GT(outcome.tokens, 5U);
    EXPECT_TRUE(session->logits().empty());
    for (std::uint32_t i = 0; i < outcome.tokens; ++i) {
      const auto token = sampler.choose(by_hand->logits(), by_hand->tokens(), options, random, {});
      ASSERT_EQ(token, session->tokens()[prompt.size() + i]) << i;
      ASSERT_TRUE(by_hand->evaluate({{*token}}, {}, {}).done());
    }
    if (outcome.finish == Finish::token_limit) {
      EXPECT_EQ(random, session->random());
    }
  }
}

TEST(Answers, AStoppedTokenSamplesNothing) {
  const ModelPointer model = tiny_model();
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(question(model), {}, {}).done());
  StopSource source;
  source.request_stop(StopReason::shutdown);
  const Snapshot before(*session);
  const Outcome outcome = session->generate(
      {.sampler = {.temperature = 1, .seed = 3}}, [](std::string_view) { FAIL(); }, source.token());
  EXPECT_EQ(outcome.reason, StopReason::shutdown);
  EXPECT_TRUE(Snapshot(*session) == before);
}

TEST(Answers, ASeedRepeatsAnAnswer) {
  const ModelPointer model = tiny_model();
  const auto say = [&](std::uint64_t seed) {
    auto session = new_session(model);
    EXPECT_TRUE(session->evaluate(question(model, "Tell me a story about a fox."), {}, {}).done());
    std::string text;
    session->generate({.max_tokens = 30, .sampler = {.temperature = 1.5F, .seed = seed}},
                      [&](std::string_view piece) { text += piece; }, {});
    return text;
  };
  EXPECT_EQ(say(1), say(1));
  EXPECT_NE(say(1), say(2));
}

TEST(Answers, AFullContextDeliversWhatAStopStringHeldBack) {
  const ModelPointer model = tiny_model();
  const auto prompt = question(model, "Tell me a story about a fox.");
  auto session = new_session(model, {.context = static_cast<std::uint32_t>(prompt.size()) + 6});
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  const std::string story = answer(model, prompt);
  std::string text;
  const Outcome outcome = session->generate({.stop = {story.substr(0, 60) + "#"}},
                                            [&](std::string_view piece) { text += piece; }, {});
  ASSERT_EQ(outcome.status, Status::failed);
  EXPECT_EQ(outcome.error->code(), Code::context_full);
  EXPECT_EQ(outcome.tokens, 6U);
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text, model->tokenizer().decode(session->tokens().last(6), false));
}

}  // namespace
}  // namespace tacet
