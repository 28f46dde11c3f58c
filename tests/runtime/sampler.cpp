#include "runtime/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace tacet {
namespace {

std::vector<float> some_logits(std::size_t count, std::uint64_t seed) {
  RandomState random{seed, 0};
  std::vector<float> logits(count);
  for (float& l : logits) l = static_cast<float>(12 * random.next() - 6);
  for (std::size_t i = 0; i + 7 < count; i += 7) logits[i + 3] = logits[i];  // equal ones
  return logits;
}

/// What Sampler promises, with a sort. `random` draws as it does.
Token reference(std::vector<float> logits, const std::vector<Token>& history,
                const SamplerOptions& options, RandomState& random) {
  const std::size_t recent = std::min<std::size_t>(options.repeat_last, history.size());
  const std::set<Token> seen(history.end() - static_cast<std::ptrdiff_t>(recent), history.end());
  for (const Token token : seen) {
    float& l = logits[static_cast<std::size_t>(token)];
    l = l > 0 ? l / options.repeat_penalty : l * options.repeat_penalty;
  }
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
  if (options.temperature == 0) return static_cast<Token>(order[0]);
  std::vector<double> weight(logits.size());
  for (std::size_t i = 0; i < weight.size(); ++i)
    weight[i] =
        std::exp((double{logits[i]} - double{logits[order[0]]}) / double{options.temperature});
  std::size_t kept = order.size();
  if (options.top_k != 0) kept = std::min<std::size_t>(kept, options.top_k);
  if (options.top_p < 1) {
    double sum = 0;
    for (std::size_t i = 0; i < kept; ++i) sum += weight[order[i]];
    const double target = sum * double{options.top_p};
    double reached = 0;
    std::size_t n = 0;
    while (n < kept && reached < target) reached += weight[order[n++]];
    kept = n;
  }
  std::vector<std::size_t> candidates(order.begin(),
                                      order.begin() + static_cast<std::ptrdiff_t>(kept));
  std::erase_if(candidates, [&](auto i) { return weight[i] < double{options.min_p}; });
  std::ranges::sort(candidates);
  double sum = 0;
  for (const auto i : candidates) sum += weight[i];
  double left = random.next() * sum;
  for (const auto i : candidates) {
    left -= weight[i];
    if (left < 0) return static_cast<Token>(i);
  }
  return static_cast<Token>(candidates.back());
}

TEST(Sampler, ChoosesAsASortDoes) {
  constexpr std::size_t vocabulary = 9000;  // more than two polls' worth
  const std::vector<Token> history = {5, 8999, 17, 5, 5, 4000, 17, 23};
  const std::vector<SamplerOptions> cases = {
      {},
      {.repeat_penalty = 1.7F},
      {.temperature = 1},
      {.temperature = 0.7F, .top_k = 40},
      {.temperature = 1.3F, .top_k = 1},
      {.temperature = 1, .top_p = 0.5F},
      {.temperature = 2, .top_k = 500, .top_p = 0.9F, .min_p = 0.05F},
      {.temperature = 1, .min_p = 0.3F, .repeat_penalty = 1.2F, .repeat_last = 3},
      {.temperature = 5, .top_p = 0.999F, .repeat_penalty = 0.5F, .repeat_last = 100},
  };
  Sampler sampler(vocabulary);
  for (std::size_t c = 0; c < cases.size(); ++c)
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto logits = some_logits(vocabulary, seed);
      RandomState ours{seed, 3};
      RandomState theirs = ours;
      const auto token = sampler.choose(logits, history, cases[c], ours, {});
      ASSERT_EQ(token, reference(logits, history, cases[c], theirs))
          << "case " << c << ", " << seed;
      ASSERT_EQ(ours, theirs);
    }
}

/// What a run gives the sampler.
void put_candidates(const std::vector<float>& logits, Sampler& sampler) {
  const std::size_t count = candidate_count(static_cast<std::uint32_t>(logits.size()));
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
  for (std::size_t i = 0; i < count; ++i) {
    sampler.candidates()[i] = logits[order[i]];
    sampler.candidates()[count + i] = static_cast<float>(order[i]);
  }
}

TEST(Sampler, ChoosesFromCandidatesAsFromAll) {
  constexpr std::uint32_t vocabulary = 9000;
  const SamplerOptions cases[] = {
      {},
      {.temperature = 0.7F, .top_k = 40},
      {.temperature = 9, .top_k = 128},
      {.temperature = 2, .top_k = 100, .top_p = 0.9F, .min_p = 0.05F},
      {.repeat_penalty = 5},
      {.temperature = 9, .top_k = 122, .repeat_penalty = 1.7F, .repeat_last = 6},
      {.temperature = 9, .top_k = 120, .top_p = 0.8F, .repeat_penalty = 20},
  };
  Sampler sampler(vocabulary);
  for (std::size_t c = 0; c < std::size(cases); ++c)
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto logits = some_logits(vocabulary, seed);
      put_candidates(logits, sampler);
      // Tokens that are recent are likely.
      std::vector<Token> history;
      for (std::size_t i = 0; i < 8; ++i)
        history.push_back(static_cast<Token>(sampler.candidates()[128 + 13 * i]));
      ASSERT_TRUE(sampler.is_enough(history.size(), cases[c])) << c;
      RandomState random{seed, 3}, of_all = random;
      const auto token = sampler.choose_candidate(history, cases[c], random, {});
      ASSERT_EQ(token, sampler.choose(logits, history, cases[c], of_all, {})) << c << ", " << seed;
      ASSERT_EQ(random, of_all);
    }
}

TEST(Sampler, KnowsWhenCandidatesAreNotEnough) {
  const Sampler sampler(9000);
  EXPECT_FALSE(sampler.is_enough(0, {.temperature = 1}));
  EXPECT_FALSE(sampler.is_enough(0, {.temperature = 1, .top_k = 129}));
  EXPECT_FALSE(sampler.is_enough(9, {.repeat_penalty = 0.9F}));
  EXPECT_TRUE(sampler.is_enough(64, {.temperature = 1, .top_k = 64, .repeat_penalty = 1.1F}));
  EXPECT_FALSE(sampler.is_enough(64, {.temperature = 1, .top_k = 65, .repeat_penalty = 1.1F}));
  EXPECT_TRUE(sampler.is_enough(63, {.temperature = 1, .top_k = 65, .repeat_penalty = 1.1F}));
  EXPECT_FALSE(sampler.is_enough(999, {.repeat_penalty = 1.1F, .repeat_last = 128}));
  EXPECT_TRUE(sampler.is_enough(999, {.repeat_penalty = 1.1F, .repeat_last = 127}));
  EXPECT_EQ(candidate_count(20), 20U);
  EXPECT_EQ(candidate_count(1 << 20), 128U);
  EXPECT_EQ(candidate_count((1 << 20) + 1), 0U) << "too many for a device to choose from";
  EXPECT_FALSE(Sampler((1 << 20) + 1).is_enough(0, {}));
  EXPECT_FALSE(Sampler(20).is_enough(0, {.temperature = 1, .top_k = 21}));
}

TEST(Sampler, OfEqualLogitsTheFirstIsTheBest) {
  Sampler sampler(5);
  RandomState random;
  const std::vector<float> logits = {1, 3, 3, 2, 3};
  EXPECT_EQ(sampler.choose(logits, {}, {}, random, {}), 1);
  EXPECT_EQ(sampler.choose(logits, {}, {.temperature = 1, .top_k = 1}, random, {}), 1);
}

TEST(Sampler, NoNumberIsChosenOnlyIfThereIsNothingElse) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Sampler sampler(4);
  RandomState random;
  EXPECT_EQ(sampler.choose(std::vector{nan, -5.0F, nan, -7.0F}, {}, {}, random, {}), 1);
  for (int i = 0; i < 50; ++i) {
    const auto token =
        sampler.choose(std::vector{nan, -5.0F, nan, -5.5F}, {}, {.temperature = 1}, random, {});
    EXPECT_TRUE(token == 1 || token == 3);
  }
  EXPECT_EQ(sampler.choose(std::vector(4, nan), {}, {.temperature = 1}, random, {}), 0);
}

TEST(Sampler, AStopGivesNothing) {
  Sampler sampler(5000);
  RandomState random;
  StopSource source;
  source.request_stop();
  EXPECT_EQ(sampler.choose(some_logits(5000, 1), {}, {.temperature = 1}, random, source.token()),
            std::nullopt);
}

TEST(Sampler, OptionsAreChecked) {
  EXPECT_TRUE(check(SamplerOptions{}));
  for (const SamplerOptions& bad : {
           SamplerOptions{.temperature = -1},
           SamplerOptions{.temperature = std::numeric_limits<float>::infinity()},
           SamplerOptions{.top_p = 0},
           SamplerOptions{.top_p = 1.5F},
           SamplerOptions{.min_p = -0.1F},
           SamplerOptions{.repeat_penalty = 0},
       }) {
    EXPECT_FALSE(check(bad));
  }
}

}  // namespace
}  // namespace tacet
