#include <cmath>

#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

std::vector<Token> some_tokens(std::size_t length) {
  std::vector<Token> tokens(length);
  for (std::size_t i = 0; i < length; ++i) tokens[i] = static_cast<Token>(i * 37 % 1000);
  return tokens;
}

/// By its definition, of the readable logits.
double log_softmax(std::span<const float> logits, Token token) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  return double{logits[static_cast<std::size_t>(token)]} - std::log(sum);
}

/// What evaluating one token after the other says.
std::vector<double> one_by_one(SessionImpl& session, std::span<const Token> tokens) {
  std::vector<double> scores;
  for (const Token token : tokens) {
    const auto logits = session.logits();
    scores.push_back(logits.empty() ? std::nan("") : log_softmax(logits, token));
    EXPECT_TRUE(session.evaluate({&token, 1}, {}, {}).done());
  }
  return scores;
}

void expect_near(std::span<const float> scores, std::span<const double> expected) {
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    ASSERT_EQ(std::isnan(scores[i]), std::isnan(expected[i])) << i;
    if (std::isnan(expected[i])) continue;
    ASSERT_NEAR(scores[i], expected[i], 1e-4) << i;
  }
}

class Score : public testing::Test {
 protected:
  ModelPointer model = tiny_model();
  std::vector<Token> tokens = some_tokens(300);
  std::vector<float> scores = std::vector<float>(300);
};

TEST_F(Score, IsTheLogarithmOfEachTokensProbability) {
  auto slow = new_session(model);
  const auto expected = one_by_one(*slow, tokens);
  auto session = new_session(model);
  const Outcome outcome = session->score(tokens, scores, {});
  ASSERT_TRUE(outcome.done());
  EXPECT_EQ(outcome.tokens, 300U);
  expect_near(scores, expected);
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*slow)) << "it leaves what evaluating leaves";
}

TEST_F(Score, InPiecesItIsThatOfTheWhole) {
  auto whole = new_session(model);
  ASSERT_TRUE(whole->score(tokens, scores, {}).done());
  auto session = new_session(model);
  std::vector<float> pieces(300);
  for (std::size_t at = 0, n = 1; at < tokens.size(); at += n, n = 2 * n + 1) {
    n = std::min(n, tokens.size() - at);
    ASSERT_TRUE(
        session->score(std::span(tokens).subspan(at, n), std::span(pieces).subspan(at, n), {})
            .done());
  }
  EXPECT_EQ(Snapshot::bits(std::span(pieces).subspan(1)),
            Snapshot::bits(std::span(scores).subspan(1)));
  EXPECT_TRUE(Snapshot(*whole) == Snapshot(*session));
}

TEST_F(Score, FollowsATruncationAndAnAnswer) {
  const auto more = std::span(tokens).first(20);
  const auto room = std::span(scores).first(20);
  // After a truncation no logits are readable, after an answer its last token is not computed yet.
  for (const bool truncated : {true, false}) {
    const auto make = [&] {
      auto session = new_session(model);
      EXPECT_TRUE(session->evaluate(std::span(tokens).first(127), {}, {}).done());
      if (truncated) {
        EXPECT_TRUE(session->truncate(100));
      } else {
        EXPECT_TRUE(session->generate({.max_tokens = 1}, {}, {}).done());
      }
      return session;
    };
    auto session = make();
    ASSERT_TRUE(session->score(more, room, {}).done());
    auto expected = new_session(model);
    const auto past = make();
    ASSERT_TRUE(expected->evaluate(past->tokens(), {}, {}).done());
    expect_near(room, one_by_one(*expected, more));
    EXPECT_EQ(Snapshot(*session).cells, Snapshot(*expected).cells);
    EXPECT_EQ(Snapshot(*session).logits, Snapshot(*expected).logits);
  }
}

TEST_F(Score, BadArgumentsChangeNothing) {
  auto session = new_session(model, {.context = 64});
  ASSERT_TRUE(session->evaluate(std::span(tokens).first(10), {}, {}).done());
  const Snapshot before(*session);
  const auto code = [&](std::span<const Token> some, std::size_t room) {
    const Outcome outcome = session->score(some, std::span(scores).first(room), {});
    EXPECT_EQ(outcome.status, Status::failed);
    EXPECT_TRUE(Snapshot(*session) == before);
    return outcome.error ? outcome.error->code() : Code::internal;
  };
  EXPECT_EQ(code(std::span(tokens).first(5), 4), Code::invalid_argument);
  EXPECT_EQ(code({}, 0), Code::invalid_argument);
  EXPECT_EQ(code(std::span(tokens).first(55), 55), Code::context_full);
  const std::vector<Token> unknown = {1, 5000};
  EXPECT_EQ(code(unknown, 2), Code::invalid_argument);
}

/// Stops in every slice are in every_poll.cpp.
TEST(ScoreFailure, OfARunRollsBack) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  const auto tokens = some_tokens(12);
  ASSERT_TRUE(session->evaluate(std::span(tokens).first(8), {}, {}).done());
  const Snapshot before(*session);
  std::vector<float> scores(4);
  for (const std::uint32_t step : {0U, 7U}) {
    fake.device->fail_at(step);
    EXPECT_EQ(session->score(std::span(tokens).last(4), scores, {}).status, Status::failed);
    EXPECT_TRUE(Snapshot(*session) == before);
  }
  ASSERT_TRUE(session->score(std::span(tokens).last(4), scores, {}).done());
  EXPECT_EQ(session->tokens().size(), 12U);
}

}  // namespace
}  // namespace tacet
