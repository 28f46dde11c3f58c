#include <filesystem>

#include "formats/temporary_folder.hpp"
#include "models/synth.hpp"
#include "runtime/support.hpp"
#include "support/failing_allocations.hpp"
#include "tacet/engine.hpp"

namespace tacet {
namespace {

using namespace test;

TEST(EveryAllocation, OfALoad) {
  // Every allocation of a small file: there are thousands, and each needs a load.
  const TemporaryFolder folder;
  const std::string path = folder / "model.gguf";
  ASSERT_TRUE(synth("tiny-qwen3", "q8_0", path));
  const auto load = [&path] {
    auto engine = Engine::create({.threads = 2, .log = [](LogLevel, std::string_view) {}});
    if (!engine) {
      EXPECT_EQ(engine.error().code(), Code::out_of_memory);
      return false;
    }
    auto model = engine->load(path);
    if (!model) {
      EXPECT_EQ(model.error().code(), Code::out_of_memory) << model.error().message();
      return false;
    }
    auto session = model->new_session();
    if (!session) {
      EXPECT_EQ(session.error().code(), Code::out_of_memory) << session.error().message();
      return false;
    }
    return true;
  };
  EXPECT_GT(fail_each("load", load), 1000);
}

TEST(EveryAllocation, OfAPromptAndAnAnswer) {
  const ModelPointer model = cpu_model();
  const auto prompt = question(model);
  const std::string expected = answer(model, prompt);
  const auto engine_failed = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.status, Status::failed);
    EXPECT_EQ(outcome.error->code(), Code::out_of_memory);
  };
  const auto ask = [&]() -> bool {
    const long left = allocations_left;
    allocations_left = -1;
    auto session = new_session(model);
    const Snapshot empty(*session);
    std::string text;
    text.reserve(256);
    allocations_left = left;
    const auto guarded = [](const auto& call) {
      try {
        return call();
      } catch (const std::bad_alloc&) {
        Outcome outcome;
        outcome.status = Status::failed;
        outcome.error = Error::no_memory();
        return outcome;
      }
    };
    const Outcome evaluated = guarded([&] { return session->evaluate(prompt, {}, {}); });
    Outcome generated;
    if (evaluated.done())
      generated = guarded([&] {
        return session->generate({}, [&](std::string_view piece) { text += piece; }, {});
      });
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    if (!evaluated.done()) {
      engine_failed(evaluated);
      EXPECT_TRUE(Snapshot(*session) == empty);
      EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    }
    if (!generated.done()) engine_failed(generated);
    EXPECT_EQ(session->tokens().size(), prompt.size() + generated.tokens);
    if (!generated.done()) {
      // It is what an answer of as many tokens leaves.
      auto calm = new_session(model);
      EXPECT_TRUE(calm->evaluate(prompt, {}, {}).done());
      if (generated.tokens != 0) {
        EXPECT_TRUE(calm->generate({.max_tokens = generated.tokens}, {}, {}).done());
      }
      EXPECT_TRUE(Snapshot(*session) == Snapshot(*calm)) << generated.tokens << " tokens";
    }
    // The session is usable: the rest of the answer comes.
    EXPECT_TRUE(session->generate({}, [&](std::string_view piece) { text += piece; }, {}).done());
    EXPECT_EQ(text, expected);
    if (reached) allocations_left = 0;
    return evaluated.done() && generated.done();
  };
  EXPECT_GT(fail_each("prompt and answer", ask), 5);
}

TEST(EveryAllocation, OfAScore) {
  const ModelPointer model = cpu_model();
  const auto prompt = question(model);
  std::vector<Token> more(140, 320);
  std::vector<float> scores(more.size());
  const auto score = [&]() -> bool {
    const long left = allocations_left;
    allocations_left = -1;
    auto session = new_session(model);
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    const Snapshot before(*session);
    allocations_left = left;
    bool done = false;
    try {
      done = session->score(more, scores, {}).done();
    } catch (const std::bad_alloc&) {
    }
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    if (!done) {
      EXPECT_TRUE(Snapshot(*session) == before);
      EXPECT_TRUE(session->score(more, scores, {}).done());
    }
    if (reached) allocations_left = 0;
    return done;
  };
  EXPECT_GT(fail_each("score", score), 5);
}

TEST(EveryAllocation, OfAModelOnTwoDevices) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.gguf";
  ASSERT_TRUE(synth("tiny-qwen3", "q8_0", path));
  const std::vector<Token> prompt(40, 3);
  const auto ask = [&]() -> bool {
    const long left = std::exchange(allocations_left, -1);
    const auto device = [] { return make_cpu_device({.threads = 1}).value(); };
    auto engine = std::make_shared<detail::EngineImpl>(
        device(), [](LogLevel, std::string_view) {}, device());
    allocations_left = left;
    const auto checked = [](const Error& error) {
      EXPECT_EQ(error.code(), Code::out_of_memory) << error.message();
      return false;
    };
    try {
      auto file = FileBytes::load(path);
      if (!file) return checked(file.error());
      auto model = ModelImpl::create(engine, std::move(*file), path, {}, GpuLayers::count(1));
      if (!model) return checked(model.error());
      auto session = SessionImpl::create(*model, {});
      if (!session) return checked(session.error());
      Outcome outcome = (*session)->evaluate(prompt, {}, {});
      if (!outcome.done()) {
        EXPECT_TRUE((*session)->tokens().empty());
        return checked(*outcome.error);
      }
      outcome = (*session)->generate({.max_tokens = 2}, {}, {});
      return outcome.done() || checked(*outcome.error);
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  EXPECT_GT(fail_each("a model on two devices", ask), 1000);
}

/// What a session and its file go through.
TEST(EveryAllocation, OfARemovalASaveAndARestore) {
  const ModelPointer model = cpu_model();
  const TemporaryFolder folder;
  const std::string path = folder / "session";
  const auto guarded = [](const auto& call) {
    try {
      return static_cast<bool>(call());
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  const auto change = [&]() -> bool {
    const long left = allocations_left;
    allocations_left = -1;
    auto session = new_session(model);
    EXPECT_TRUE(session->evaluate(long_prompt(70), {}, {}).done());
    const Snapshot before(*session);
    allocations_left = left;
    const bool removed = guarded([&] { return session->remove(20, 33, true, {}).done(); });
    const bool saved = removed && guarded([&] { return session->save(path, {}); });
    std::unique_ptr<SessionImpl> restored;
    const bool back = saved && guarded([&] {
                        auto result = SessionImpl::restore(model, path, 0, {});
                        if (result) restored = std::move(*result);
                        return result.has_value();
                      });
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    if (!removed) {
      EXPECT_TRUE(Snapshot(*session) == before);
      EXPECT_TRUE(session->remove(20, 33, true, {}).done());
    }
    if (!saved) {
      EXPECT_TRUE(session->save(path, {}));
    }
    if (back) {
      EXPECT_TRUE(Snapshot(*restored) == Snapshot(*session));
    }
    std::filesystem::remove(path);
    if (reached) allocations_left = 0;
    return back;
  };
  EXPECT_GT(fail_each("removal, save and restore", change), 20);
}

TEST(EveryAllocation, OfCallsThatAreSubmittedTogether) {
  const ModelPointer model = cpu_model();
  const auto submit = [&]() -> bool {
    const long left = allocations_left;
    allocations_left = -1;
    std::vector<std::unique_ptr<SessionImpl>> sessions;
    std::vector<Snapshot> before;
    const std::vector<std::vector<Token>> prompts = {long_prompt(9), long_prompt(40, 2)};
    for (int i = 0; i < 2; ++i) {
      sessions.push_back(new_session(model));
      EXPECT_TRUE(sessions.back()->evaluate(long_prompt(33, i + 5), {}, {}).done());
      before.emplace_back(*sessions.back());
    }
    StopSource source;
    allocations_left = left;
    bool done = false;
    try {
      std::vector<std::unique_ptr<detail::RunImpl>> owned;
      std::vector<detail::RunImpl*> runs;
      std::vector<SessionCall> calls;
      for (std::size_t i = 0; i < 2; ++i) {
        owned.push_back(std::make_unique<detail::RunImpl>(*sessions[i], source.token()));
        runs.push_back(owned.back().get());
        calls.push_back({nullptr, prompts[i]});
      }
      if (SessionImpl::submit_together(runs, calls)) {
        done = true;
        for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(sessions[i]->settle(owned[i]->call).done());
      }
    } catch (const std::bad_alloc&) {
    }
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    for (std::size_t i = 0; i < 2 && !done; ++i) {
      EXPECT_TRUE(Snapshot(*sessions[i]) == before[i]);
      EXPECT_TRUE(sessions[i]->evaluate(prompts[i], {}, {}).done());
    }
    if (reached) allocations_left = 0;
    return done;
  };
  allocations_left = -1;
  ASSERT_TRUE(submit());  // makes the plans
  EXPECT_GT(fail_each("submitted together", submit), 20);
}

TEST(EveryAllocation, ADecodeStepMakesNone) {
  const ModelPointer model = cpu_model();
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(question(model, "Tell me a story about a fox."), {}, {}).done());
  StopSource source;
  std::vector<long> made;
  made.reserve(64);
  ASSERT_TRUE(session
                  ->generate(
                      {.max_tokens = 30},
                      [&](std::string_view) { made.push_back(allocations_made); }, source.token())
                  .done());
  // From the 18th token to the last, all in the second page of the KV cache; the first ones filled
  // the pools.
  ASSERT_EQ(made.size(), 30U);
  EXPECT_EQ(made.back() - made[18], 0);
}

}  // namespace
}  // namespace tacet
