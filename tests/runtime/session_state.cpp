// What sessions keep, share and forget: removed tokens, windows, shifts of the context, prefixes of
// other sessions, forks.

#include "formats/temporary_folder.hpp"
#include "models/synth.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

/// A model of one layer, where the keys and values of a token depend on nothing but the token: so
/// that a session that forgot a token and one that never had it agree.
ModelPointer one_layer() {
  const TemporaryFolder folder;
  const std::string path = folder / "model.gguf";
  EXPECT_TRUE(synth("tiny-llama-one", "F16", path));
  return try_load(std::move(make_cpu_device({.threads = 2}).value()), path).value();
}

std::vector<Token> small_tokens(std::size_t count) {
  auto tokens = long_prompt(count);
  for (Token& token : tokens) token %= 500;
  return tokens;
}

float difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// Makes `generate` leave logits.
const SamplerOptions needs_all{.repeat_penalty = 0.999F};

constexpr SessionOptions exact{.k_type = KvType::f32, .v_type = KvType::f32};

class Remove : public testing::TestWithParam<std::pair<std::uint32_t, std::uint32_t>> {
 protected:
  /// Logits after `tokens` in a session that had no others.
  std::vector<float> fresh(std::span<const Token> tokens, SessionOptions options = exact) const {
    auto session = new_session(model_, options);
    EXPECT_TRUE(session->evaluate(tokens, {}, {}).done());
    return {session->logits().begin(), session->logits().end()};
  }
  const ModelPointer model_ = one_layer();
  const std::vector<Token> prompt_ = small_tokens(150);
};

TEST_P(Remove, ThatClosesTheGapIsAsIfTheTokensHadNeverBeen) {
  const auto [begin, end] = GetParam();
  auto session = new_session(model_, exact);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  const Outcome removed = session->remove(begin, end, true, {});
  ASSERT_TRUE(removed.done());
  EXPECT_EQ(removed.tokens, end - begin);
  EXPECT_TRUE(session->logits().empty());
  std::vector<Token> left = prompt_;
  left.erase(left.begin() + begin, left.begin() + end);
  ASSERT_TRUE(std::ranges::equal(session->tokens(), left));
  const std::vector<Token> more = {7, 8, 9};
  ASSERT_TRUE(session->evaluate(more, {}, {}).done());
  left.insert(left.end(), more.begin(), more.end());
  EXPECT_LT(difference(session->logits(), fresh(left)), 1e-4F);
  EXPECT_GT(difference(session->logits(), fresh(prompt_)), 1e-2F)
      << "the comparison sees something";
}

TEST_P(Remove, ThatLeavesTheGapKeepsPositionsAndBits) {
  const auto [begin, end] = GetParam();
  auto session = new_session(model_, exact);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  const Snapshot before(*session);
  ASSERT_TRUE(session->remove(begin, end, false, {}).done());
  const Snapshot after(*session);
  std::vector<std::int32_t> positions = before.positions;
  positions.erase(positions.begin() + begin, positions.begin() + end);
  EXPECT_EQ(after.positions, positions);
  EXPECT_EQ(after.computed, positions.size() - 1) << "the last one is computed anew";
  // The cells, one after the other, for each layer and head.
  std::vector<std::byte> cells;
  const std::size_t cell = before.cells.size() / (prompt_.size() * 2);
  for (std::size_t head = 0; head < 2; ++head)
    for (std::size_t i = 0; i < prompt_.size(); ++i)
      if ((i < begin || i >= end) && i + 1 < prompt_.size()) {
        const auto at = before.cells.begin() +
                        std::ssize(prompt_) * static_cast<std::ptrdiff_t>(head * cell) +
                        static_cast<std::ptrdiff_t>(i * cell);
        cells.insert(cells.end(), at, at + static_cast<std::ptrdiff_t>(cell));
      }
  EXPECT_TRUE(after.cells == cells);
  // Far tokens are seen from where they are.
  const std::vector<Token> more = {7, 8, 9};
  ASSERT_TRUE(session->evaluate(more, {}, {}).done());
  std::vector<Token> left(session->tokens().begin(), session->tokens().end());
  const float off = difference(session->logits(), fresh(left));
  if (begin == 0)
    EXPECT_LT(off, 1e-4F) << "nothing lies before the gap";
  else
    EXPECT_GT(off, 1e-4F);
}

INSTANTIATE_TEST_SUITE_P(Ranges, Remove,
                         testing::Values(std::pair(0U, 32U), std::pair(0U, 45U),
                                         std::pair(32U, 96U), std::pair(5U, 6U), std::pair(5U, 69U),
                                         std::pair(40U, 149U), std::pair(100U, 120U),
                                         std::pair(140U, 149U)));

TEST_F(Remove, OfTheEndIsATruncation) {
  auto session = new_session(model_, exact), truncated = new_session(model_, exact);
  for (auto* s : {session.get(), truncated.get()}) ASSERT_TRUE(s->evaluate(prompt_, {}, {}).done());
  EXPECT_EQ(session->remove(100, 150, true, {}).tokens, 50U);
  ASSERT_TRUE(truncated->truncate(100));
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*truncated));
  ASSERT_TRUE(session->remove(50, 50, true, {}).done());
  EXPECT_EQ(session->tokens().size(), 100U);
}

TEST_F(Remove, AgainAndAgain) {
  auto session = new_session(model_, exact);
  std::vector<Token> left = prompt_;
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  std::uint32_t at = 3;
  for (int i = 0; i < 20; ++i) {
    at = (at * 29 + 11) % 80;
    ASSERT_TRUE(session->remove(at, at + 9, true, {}).done());
    left.erase(left.begin() + at, left.begin() + at + 9);
    const auto more = small_tokens(9);
    ASSERT_TRUE(session->evaluate(more, {}, {}).done());
    left.insert(left.end(), more.begin(), more.end());
    ASSERT_TRUE(std::ranges::equal(session->tokens(), left));
    ASSERT_LT(difference(session->logits(), fresh(left)), 1e-4F) << i;
  }
  ASSERT_TRUE(session->truncate(60));
  ASSERT_TRUE(session->generate({.max_tokens = 1, .sampler = needs_all}, {}, {}).done());
  EXPECT_LT(difference(session->logits(), fresh(std::span(left).first(60))), 1e-4F);
  ASSERT_TRUE(session->truncate(0));
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  EXPECT_EQ(Snapshot::bits(session->logits()), Snapshot::bits(fresh(prompt_)));
}

TEST_F(Remove, LeavesForksAlone) {
  auto session = new_session(model_, exact);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  auto fork = session->fork().value();
  const Snapshot before(*fork);
  const std::size_t pages = session->pages().pool()->used();
  ASSERT_TRUE(session->remove(32, 96, false, {}).done());
  EXPECT_EQ(session->pages().pool()->used(), pages) << "whole pages are shared, not copied";
  ASSERT_TRUE(session->remove(5, 10, true, {}).done());
  EXPECT_TRUE(Snapshot(*fork) == before);
}

TEST_F(Remove, StopsWithoutATrace) {
  auto session = new_session(model_, exact);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  const Snapshot before(*session);
  const std::size_t pages = session->pages().pool()->used();
  std::uint32_t stops = 0;
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = session->remove(70, 100, true, after_polls(n));
    if (outcome.done()) break;
    ++stops;
    ASSERT_EQ(outcome.status, Status::stopped) << n;
    ASSERT_EQ(outcome.tokens, 0U);
    ASSERT_TRUE(Snapshot(*session) == before) << n;
    ASSERT_EQ(session->pages().pool()->used(), pages) << n;
  }
  EXPECT_GT(stops, 10U);
}

TEST_F(Remove, WhatIsNotThereIsAnError) {
  auto session = new_session(model_, exact);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  const Snapshot before(*session);
  for (const auto& [begin, end] : {std::pair(5U, 151U), std::pair(9U, 8U)}) {
    const Outcome outcome = session->remove(begin, end, false, {});
    ASSERT_EQ(outcome.status, Status::failed);
    EXPECT_EQ(outcome.error->code(), Code::invalid_argument);
  }
  EXPECT_TRUE(Snapshot(*session) == before);
}

using Window = Remove;

TEST_F(Window, SeesTheLastTokensAndGivesUpTheRest) {
  constexpr std::uint32_t window = 50;
  SessionOptions options = exact;
  options.window = window;
  for (const bool in_pieces : {false, true}) {
    auto session = new_session(model_, options);
    const std::size_t step = in_pieces ? 7 : prompt_.size();
    for (std::size_t at = 0; at < prompt_.size(); at += step)
      ASSERT_TRUE(
          session
              ->evaluate(std::span(prompt_).subspan(at, std::min(step, prompt_.size() - at)), {},
                         {})
              .done());
    EXPECT_LT(difference(session->logits(), fresh(std::span(prompt_).last(window))), 1e-4F);
    EXPECT_GT(difference(session->logits(), fresh(std::span(prompt_).last(window + 1))), 1e-4F);
    EXPECT_EQ(session->pages().first_cell(), 96U);
    EXPECT_EQ(session->pages().pool()->used(), 2U);
  }
}

TEST_F(Window, ForksSavesTruncatesAndForgets) {
  SessionOptions options = exact;
  options.window = 50;
  auto session = new_session(model_, options);
  ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
  const std::vector<Token> more = {7, 8, 9};
  auto fork = session->fork().value();
  ASSERT_TRUE(session->evaluate(more, {}, {}).done());
  ASSERT_TRUE(fork->evaluate(more, {}, {}).done());
  EXPECT_TRUE(Snapshot(*fork) == Snapshot(*session));

  const TemporaryFolder folder;
  const std::string path = folder / "window";
  ASSERT_TRUE(session->save(path, {}));
  auto restored = SessionImpl::restore(model_, path, 0, {});
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(Snapshot(**restored) == Snapshot(*session));
  ASSERT_TRUE((*restored)->remove(110, 120, true, {}).done());
  ASSERT_TRUE(session->remove(110, 120, true, {}).done());
  ASSERT_TRUE((*restored)->generate({.max_tokens = 5}, {}, {}).done());
  ASSERT_TRUE(session->generate({.max_tokens = 5}, {}, {}).done());
  EXPECT_TRUE(Snapshot(**restored) == Snapshot(*session));

  // What it needs again is gone: all is computed anew.
  ASSERT_TRUE(fork->truncate(100));
  EXPECT_EQ(fork->computed(), 0U);
  ASSERT_TRUE(fork->generate({.max_tokens = 1, .sampler = needs_all}, {}, {}).done());
  EXPECT_EQ(Snapshot::bits(fork->logits()),
            Snapshot::bits(fresh(std::span(prompt_).first(100), options)));
}

TEST_F(Window, AcrossAGap) {
  SessionOptions options = exact;
  options.window = 50;
  for (const bool close : {false, true})
    for (const auto& [begin, end] :
         {std::pair(10U, 20U), std::pair(60U, 130U), std::pair(90U, 100U), std::pair(120U, 130U)}) {
      auto session = new_session(model_, options);
      ASSERT_TRUE(session->evaluate(prompt_, {}, {}).done());
      ASSERT_TRUE(session->remove(begin, end, close, {}).done());
      ASSERT_TRUE(session->evaluate(std::vector<Token>{7, 8, 9}, {}, {}).done());
      std::vector<Token> seen;
      const auto tokens = session->tokens();
      const Positions& positions = session->positions();
      const auto count = static_cast<std::uint32_t>(tokens.size());
      for (std::uint32_t i = 0; i < count; ++i)
        if (positions[count - 1] - positions[i] < 50) seen.push_back(tokens[i]);
      const bool gap_in_sight = !close && end > 103;
      if (!gap_in_sight) {
        EXPECT_LT(difference(session->logits(), fresh(seen)), 1e-4F) << begin;
      }
      EXPECT_TRUE(std::isfinite(session->logits()[0]));
    }
}

TEST_F(Window, TooLargeIsAnError) {
  SessionOptions options;
  options.window = ~0U;
  const auto session = SessionImpl::create(model_, options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), Code::invalid_argument);
}

TEST(ContextShift, LetsAnAnswerGoOn) {
  const ModelPointer model = one_layer();
  const auto prompt = small_tokens(40);
  SessionOptions options = exact;
  options.context = 128;
  auto session = new_session(model, options);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  const GenerateOptions generate{
      .max_tokens = 400, .shift = ContextShift{.keep = 10}, .sampler = needs_all};
  const Outcome outcome = session->generate(generate, {}, {});
  ASSERT_TRUE(outcome.done() || outcome.finish == Finish::end_token);
  ASSERT_EQ(outcome.tokens, 400U);
  EXPECT_LE(session->tokens().size(), 128U);
  EXPECT_TRUE(std::ranges::equal(session->tokens().first(10), std::span(prompt).first(10)));
  // What is left gives the logits of a session that has never had more.
  auto fresh = new_session(model, options);
  ASSERT_TRUE(fresh->evaluate(session->tokens().first(session->computed()), {}, {}).done());
  EXPECT_LT(difference(session->logits(), fresh->logits()), 1e-4F);
}

TEST(ContextShift, OffItIsAnErrorAndBadOptionsAreToo) {
  const ModelPointer model = one_layer();
  auto session = new_session(model, {.context = 64});
  ASSERT_TRUE(session->evaluate(small_tokens(40), {}, {}).done());
  const Outcome full = session->generate({}, {}, {});
  ASSERT_EQ(full.status, Status::failed);
  EXPECT_EQ(full.error->code(), Code::context_full);
  EXPECT_EQ(session->tokens().size(), 64U);
  const Outcome bad = session->generate({.shift = ContextShift{.keep = 63}}, {}, {});
  ASSERT_EQ(bad.status, Status::failed);
  EXPECT_EQ(bad.error->code(), Code::invalid_argument);
  EXPECT_TRUE(
      session->generate({.max_tokens = 3, .shift = ContextShift{.keep = 62}}, {}, {}).done());
}

TEST(ContextShift, StopsWithoutLosingAToken) {
  const ModelPointer model = one_layer();
  const auto prompt = small_tokens(40);
  const auto make = [&] {
    auto session = new_session(model, {.context = 64});
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    return session;
  };
  const GenerateOptions all{.max_tokens = 60,
                            .shift = ContextShift{.keep = 20},
                            .sampler = {.temperature = 1, .seed = 3}};
  auto undisturbed = make();
  ASSERT_TRUE(undisturbed->generate(all, {}, {}).done());
  for (std::int64_t n = 40; n < 4000; n += 37) {
    auto session = make();
    Outcome outcome = session->generate(all, {}, after_polls(n));
    if (outcome.done()) break;
    ASSERT_TRUE(outcome.stopped());
    GenerateOptions rest = all;
    rest.max_tokens -= outcome.tokens;
    if (outcome.tokens != 0) rest.sampler.seed = std::nullopt;
    ASSERT_TRUE(session->generate(rest, {}, {}).done());
    ASSERT_TRUE(Snapshot(*session) == Snapshot(*undisturbed)) << n;
  }
}

class Prefix : public testing::Test {
 protected:
  explicit Prefix(ModelPointer model = tiny_model()) : model_(std::move(model)) {}
  std::unique_ptr<SessionImpl> session(const SessionOptions& options = {}) const {
    return std::move(SessionImpl::create(model_, options).value());
  }
  Outcome evaluate(SessionImpl& s, std::span<const Token> tokens) const {
    Outcome outcome = s.evaluate(tokens, {}, {});
    EXPECT_TRUE(outcome.done());
    EXPECT_EQ(outcome.tokens, tokens.size());
    return outcome;
  }
  Snapshot alone(std::span<const Token> tokens, const SessionOptions& options = {}) const {
    auto s = new_session(model_, options);
    EXPECT_TRUE(s->evaluate(tokens, {}, {}).done());
    return Snapshot(*s);
  }
  /// A new session that takes over `reused` tokens of `tokens`, and its bits are those of one that
  /// computes them all.
  void expect_reused(std::span<const Token> tokens, std::uint32_t reused) const {
    auto s = session();
    EXPECT_EQ(evaluate(*s, tokens).reused, reused);
    EXPECT_TRUE(Snapshot(*s) == alone(tokens));
  }
  const ModelPointer model_;
  const std::vector<Token> prompt_ = long_prompt(150);
};

/// With stops at a number of looks.
class PrefixOnTheCpu : public Prefix {
 protected:
  PrefixOnTheCpu() : Prefix(cpu_model()) {}
};

TEST_F(Prefix, IsTakenOverWithTheSameBits) {
  auto a = session();
  EXPECT_EQ(evaluate(*a, prompt_).reused, 0U);
  const std::size_t pages = a->pages().pool()->used();
  auto b = session();
  EXPECT_EQ(evaluate(*b, prompt_).reused, 128U);
  EXPECT_EQ(b->pages().pool()->used(), pages + 1) << "only the last page is its own";
  EXPECT_TRUE(Snapshot(*a) == alone(prompt_));
  EXPECT_TRUE(Snapshot(*b) == alone(prompt_));

  std::vector<Token> other = prompt_;
  other[70] = 5;
  expect_reused(other, 64);
  // The last cell is always computed, for its logits.
  expect_reused(std::span(prompt_).first(128), 96);
}

TEST_F(Prefix, OutlivesItsSession) {
  { evaluate(*session(), prompt_); }
  auto b = session();
  EXPECT_EQ(b->pages().pool()->used(), 0U);
  EXPECT_EQ(evaluate(*b, prompt_).reused, 128U);
  EXPECT_TRUE(Snapshot(*b) == alone(prompt_));
  b.reset();
  // Until its memory is needed for others.
  { evaluate(*session({.share_prefix = false}), long_prompt(480, 9)); }
  expect_reused(prompt_, 0);
}

TEST_F(Prefix, OfAnAnswerToo) {
  auto a = session();
  evaluate(*a, question(model_, "Tell me a story about a fox."));
  ASSERT_TRUE(a->generate({.max_tokens = 60}, {}, {}).done());
  std::vector<Token> all(a->tokens().begin(), a->tokens().end());
  expect_reused(all, static_cast<std::uint32_t>((all.size() - 1) / 32 * 32));
}

TEST_F(Prefix, IsNotTakenWhereItDiffers) {
  { evaluate(*session(), prompt_); }
  EXPECT_EQ(evaluate(*session({.share_prefix = false}), prompt_).reused, 0U);
  EXPECT_EQ(evaluate(*session({.k_type = KvType::q8_0}), prompt_).reused, 0U);
  EXPECT_EQ(evaluate(*session({.window = 40}), prompt_).reused, 0U);
  EXPECT_EQ(evaluate(*session({.window = 200}), prompt_).reused, 0U);
  // Nor from a session that forgot something in between.
  auto a = session();
  evaluate(*a, std::span(prompt_).first(100));
  ASSERT_TRUE(a->remove(40, 50, false, {}).done());
  std::vector<Token> more = long_prompt(100, 4);
  evaluate(*a, more);
  std::vector<Token> same(a->tokens().begin(), a->tokens().end());
  expect_reused(same, 32);
  auto c = session();
  evaluate(*c, std::span(prompt_).first(100));
  ASSERT_TRUE(c->remove(40, 50, true, {}).done());
  evaluate(*c, more);
  auto d = session();
  evaluate(*d, same);
  EXPECT_TRUE(Snapshot(*d) == alone(same));
}

TEST_F(Prefix, OthersMayChangeTheirMinds) {
  auto a = session();
  evaluate(*a, prompt_);
  auto b = session();
  evaluate(*b, prompt_);
  ASSERT_TRUE(a->truncate(40));
  std::vector<Token> other(prompt_.begin(), prompt_.begin() + 40);
  const auto more = long_prompt(60, 7);
  evaluate(*a, more);
  other.insert(other.end(), more.begin(), more.end());
  EXPECT_TRUE(Snapshot(*a) == alone(other));
  EXPECT_TRUE(Snapshot(*b) == alone(prompt_));
  expect_reused(prompt_, 128);
  expect_reused(other, 96);
}

TEST_F(Prefix, APageThatIsWrittenAgainIsNotFoundByWhatItHeld) {
  auto a = session();
  evaluate(*a, prompt_);
  ASSERT_TRUE(a->truncate(40));
  evaluate(*a, long_prompt(90, 7));
  expect_reused(prompt_, 32);
}

TEST_F(Prefix, IsSharedAgainAfterANewBeginning) {
  auto a = session();
  evaluate(*a, prompt_);
  auto b = session();
  evaluate(*b, long_prompt(100, 4));
  ASSERT_TRUE(b->remove(40, 50, true, {}).done());
  ASSERT_TRUE(b->truncate(0));
  EXPECT_EQ(evaluate(*b, prompt_).reused, 128U);
  EXPECT_TRUE(Snapshot(*b) == alone(prompt_));
}

TEST_F(PrefixOnTheCpu, OfAStoppedPromptIsNotOffered) {
  auto a = session();
  KvPool& pool = *a->pages().pool();
  const auto first = std::span(prompt_).first(KvPool::page_tokens);
  int stops = 0;
  for (std::int64_t n = 1; a->evaluate(prompt_, after_polls(n), {}).stopped(); n += 13, ++stops)
    ASSERT_EQ(pool.find(0, first).data, nullptr) << n;
  EXPECT_GT(stops, 5);
  const KvPool::NamedPage page = pool.find(0, first);
  ASSERT_NE(page.data, nullptr) << "now it is";
  pool.release(page.data);
}

TEST_F(PrefixOnTheCpu, AStopGivesTakenPagesBack) {
  { evaluate(*session(), prompt_); }
  auto b = session();
  const Snapshot empty(*b);
  int stops = 0;
  for (std::int64_t n = 1; b->evaluate(prompt_, after_polls(n), {}).stopped(); ++n, ++stops) {
    ASSERT_EQ(b->pages().pool()->used(), 0U) << n;
    ASSERT_TRUE(Snapshot(*b) == empty) << n;
  }
  EXPECT_GT(stops, 10);
  EXPECT_TRUE(Snapshot(*b) == alone(prompt_));
}

TEST_F(PrefixOnTheCpu, OfOneThatStoppedIsNotInTheWay) {
  { evaluate(*session(), prompt_); }
  auto b = session();
  ASSERT_TRUE(b->evaluate(prompt_, after_polls(9), {}).stopped());
  std::vector<Token> other = prompt_;
  other[3] = 8;
  EXPECT_EQ(evaluate(*b, other).reused, 0U);
  EXPECT_TRUE(Snapshot(*b) == alone(other));
}

TEST(Fork, SharesThePastAndNotTheFuture) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(75);  // two pages and a part of one
  auto a = new_session(model);
  ASSERT_TRUE(a->evaluate(prompt, {}, {}).done());
  const std::size_t pages = a->pages().pool()->used();
  auto b = std::move(a->fork().value());
  EXPECT_EQ(a->pages().pool()->used(), pages) << "a fork takes no pages";
  EXPECT_TRUE(Snapshot(*a) == Snapshot(*b));
  const std::vector<Token> one = {5, 6};
  const std::vector<Token> other = {7, 8};
  ASSERT_TRUE(b->evaluate(one, {}, {}).done());
  EXPECT_EQ(a->pages().pool()->used(), pages + 1) << "only the partly filled page is copied";
  ASSERT_TRUE(a->evaluate(other, {}, {}).done());
  const auto alone = [&](std::span<const Token> more) {
    auto session = new_session(model);
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    EXPECT_TRUE(session->evaluate(more, {}, {}).done());
    return Snapshot(*session);
  };
  EXPECT_TRUE(Snapshot(*a) == alone(other));
  EXPECT_TRUE(Snapshot(*b) == alone(one));
  b.reset();
  a.reset();
  EXPECT_EQ(model->kv_pool(DType::f16, DType::f16)->used(), 0U) << "all pages are given back";
}

TEST(Truncate, Forgets) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(70);
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  for (const std::uint32_t keep : {64U, 33U, 32U, 1U}) {
    auto fork = std::move(session->fork().value());
    ASSERT_TRUE(fork->truncate(keep));
    EXPECT_EQ(fork->tokens().size(), keep);
    EXPECT_TRUE(fork->logits().empty());
    ASSERT_TRUE(fork->generate({.max_tokens = 3}, {}, {}).done());
    auto fresh = new_session(model);
    ASSERT_TRUE(fresh->evaluate(std::span(prompt).first(keep), {}, {}).done());
    ASSERT_TRUE(fresh->generate({.max_tokens = 3}, {}, {}).done());
    EXPECT_TRUE(Snapshot(*fork) == Snapshot(*fresh)) << keep;
  }
  EXPECT_FALSE(session->truncate(71));
  EXPECT_TRUE(session->truncate(0));
  EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
}

}  // namespace
}  // namespace tacet
