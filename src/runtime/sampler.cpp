#include "runtime/sampler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/result.hpp"
#include "ops/ops.hpp"

namespace tacet {

namespace {

/// Tokens looked at between two polls: about 10 us, 50 us where exponentials are computed.
constexpr std::size_t poll_interval = 4096;

/// Calls `body` for each index below `count`, or until it returns false if it returns anything;
/// false if the stop fired.
template <typename Body>
bool for_each(std::size_t count, const StopToken& stop, Body&& body) {
  for (std::size_t begin = 0; begin < count; begin += poll_interval) {
    if (stop.possible() && stop.stop_requested()) return false;
    const std::size_t end = std::min(count, begin + poll_interval);
    for (std::size_t i = begin; i < end; ++i) {
      if constexpr (std::is_void_v<decltype(body(i))>)
        body(i);
      else if (!body(i))
        return true;
    }
  }
  return true;
}

/// An integer that is ordered as the floats are.
std::uint32_t order_key(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

}  // namespace

double RandomState::next() noexcept {
  std::uint64_t z = seed + ++drawn * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Result<void> check(const SamplerOptions& options) {
  const auto wrong = [](const char* what, float value, const char* range) {
    return fail(Code::invalid_argument, "{} is {}; it should be {}.", what, value, range);
  };
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    return wrong("The temperature", options.temperature, "0 or more");
  if (!(options.top_p > 0 && options.top_p <= 1))
    return wrong("top_p", options.top_p, "above 0 and at most 1");
  if (!(options.min_p >= 0 && options.min_p <= 1)) return wrong("min_p", options.min_p, "0 to 1");
  if (!(options.repeat_penalty > 0) || !std::isfinite(options.repeat_penalty))
    return wrong("The repeat penalty", options.repeat_penalty, "above 0");
  return {};
}

std::uint32_t candidate_count(std::uint32_t vocabulary) noexcept {
  return vocabulary > ops::most_top_k_width ? 0 : std::min<std::uint32_t>(ops::most_k, vocabulary);
}

Sampler::Sampler(std::uint32_t vocabulary)
    : candidates_(2 * candidate_count(vocabulary)),
      tokens_(vocabulary),
      logits_(vocabulary),
      weights_(vocabulary) {}

bool Sampler::list_all(std::span<const float> logits, const StopToken& stop) {
  count_ = logits.size();
  return for_each(count_, stop, [&](std::size_t i) {
    tokens_[i] = static_cast<Token>(i);
    // With one zero only, so that the order of keys is that of logits.
    logits_[i] = std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i] + 0;
  });
}

void Sampler::list_candidates() {
  count_ = candidates_.size() / 2;
  const auto logits = std::span(candidates_).first(count_),
             places = std::span(candidates_).last(count_);
  std::array<std::pair<Token, float>, ops::most_k> listed;
  for (std::size_t i = 0; i < count_; ++i) listed[i] = {static_cast<Token>(places[i]), logits[i]};
  std::ranges::sort(std::span(listed).first(count_));
  for (std::size_t i = 0; i < count_; ++i) std::tie(tokens_[i], logits_[i]) = listed[i];
}

bool Sampler::is_enough(std::size_t history_size, const SamplerOptions& options) const noexcept {
  // A penalty below 1 lifts tokens that need not be among the best.
  if (options.repeat_penalty < 1) return false;
  const std::size_t kept = options.temperature <= 0 ? 1 : options.top_k;
  // Each token that it moves down lets another one in.
  const std::size_t moved =
      options.repeat_penalty == 1 ? 0 : std::min<std::size_t>(options.repeat_last, history_size);
  return kept != 0 && kept + moved <= candidates_.size() / 2;
}

/// Each token once, however often it is there: `weights_`, not in use yet, marks the ones to do.
bool Sampler::penalize(std::span<const Token> recent, float penalty, const StopToken& stop) {
  const auto listed = std::span(tokens_).first(count_);
  const auto for_listed = [&](const auto& body) {
    return for_each(recent.size(), stop, [&](std::size_t i) {
      const auto found = std::ranges::lower_bound(listed, recent[i]);
      if (found == listed.end() || *found != recent[i]) return;
      body(static_cast<std::size_t>(found - listed.begin()));
    });
  };
  return for_listed([&](std::size_t at) { weights_[at] = 1; }) && for_listed([&](std::size_t at) {
           if (std::exchange(weights_[at], 0) == 0) return;
           float& logit = logits_[at];
           logit = logit > 0 ? logit / penalty : logit * penalty;
         });
}

bool Sampler::weigh(float best, float temperature, const StopToken& stop) {
  // Beyond this distance a weight is below 1e-17 and could not change a sum.
  const float far = best - 40 * temperature;
  return for_each(count_, stop, [&](std::size_t i) {
    weights_[i] = logits_[i] < far
                      ? 0
                      : std::exp((static_cast<double>(logits_[i]) - static_cast<double>(best)) /
                                 static_cast<double>(temperature));
  });
}

std::optional<double> Sampler::total(const StopToken& stop) const {
  double sum = 0;
  if (!for_each(count_, stop, [&](std::size_t i) { sum += weights_[i]; })) return std::nullopt;
  return sum;
}

/// A radix selection: finds the key at which the measure of the better tokens reaches `target`, 11
/// bits at a time.
std::optional<Sampler::Cut> Sampler::find_cut(double target, Measure measure,
                                              const StopToken& stop) const {
  struct Digit {
    unsigned shift;
    std::uint32_t mask;
  };
  constexpr Digit digits[] = {{21, 0x7ff}, {10, 0x7ff}, {0, 0x3ff}};
  const auto amount = [&](std::size_t i) { return measure == Measure::weight ? weights_[i] : 1.0; };
  std::uint32_t prefix = 0;
  std::uint32_t known = 0;
  double above = 0;
  for (const Digit digit : digits) {
    std::array<double, 2048> sums{};
    const bool finished = for_each(count_, stop, [&](std::size_t i) {
      const std::uint32_t key = order_key(logits_[i]);
      if (weights_[i] > 0 && (key & known) == prefix)
        sums[(key >> digit.shift) & digit.mask] += amount(i);
    });
    if (!finished) return std::nullopt;
    // Ends at the lowest bucket that holds anything if rounding keeps the target out of reach.
    std::uint32_t chosen = 0;
    double better = above;
    for (std::uint32_t bucket = digit.mask + 1; bucket-- > 0 && above < target;) {
      if (sums[bucket] == 0) continue;
      chosen = bucket;
      better = above;
      above += sums[bucket];
    }
    above = better;
    prefix |= chosen << digit.shift;
    known |= digit.mask << digit.shift;
  }
  Cut cut{prefix, 0};
  const bool finished = for_each(count_, stop, [&](std::size_t i) {
    if (above >= target) return false;
    if (weights_[i] == 0 || order_key(logits_[i]) != prefix) return true;
    cut.token = i;
    above += amount(i);
    return true;
  });
  if (!finished) return std::nullopt;
  return cut;
}

/// Drops every candidate but the best ones that together reach `target`.
bool Sampler::keep_best(double target, Measure measure, const StopToken& stop) {
  const auto cut = find_cut(target, measure, stop);
  if (!cut) return false;
  return for_each(count_, stop, [&](std::size_t i) {
    const std::uint32_t key = order_key(logits_[i]);
    if (key < cut->key || (key == cut->key && i > cut->token)) weights_[i] = 0;
  });
}

/// Leaves those that have a weight listed.
bool Sampler::keep_weighed(const StopToken& stop) {
  std::size_t kept = 0;
  const bool finished = for_each(count_, stop, [&](std::size_t i) {
    if (weights_[i] == 0) return;
    tokens_[kept] = tokens_[i];
    logits_[kept++] = logits_[i];
  });
  count_ = kept;
  return finished;
}

std::optional<Token> Sampler::choose(std::span<const float> logits, std::span<const Token> history,
                                     const SamplerOptions& options, RandomState& random,
                                     const StopToken& stop) {
  if (!list_all(logits, stop)) return std::nullopt;
  return choose_listed(history, options, random, stop);
}

std::optional<Token> Sampler::choose_candidate(std::span<const Token> history,
                                               const SamplerOptions& options, RandomState& random,
                                               const StopToken& stop) {
  list_candidates();
  return choose_listed(history, options, random, stop);
}

std::optional<Token> Sampler::choose_listed(std::span<const Token> history,
                                            const SamplerOptions& options, RandomState& random,
                                            const StopToken& stop) {
  if (options.repeat_penalty != 1 &&
      !penalize(history.last(std::min<std::size_t>(options.repeat_last, history.size())),
                options.repeat_penalty, stop))
    return std::nullopt;
  std::size_t best = 0;
  if (!for_each(count_, stop, [&](std::size_t i) {
        if (logits_[i] > logits_[best]) best = i;
      }))
    return std::nullopt;
  if (options.temperature <= 0 || !std::isfinite(logits_[best])) return tokens_[best];

  const float largest = logits_[best];
  Token last = tokens_[best];
  if (options.top_k != 0 && options.top_k < count_ &&
      (!for_each(count_, stop, [&](std::size_t i) { weights_[i] = 1; }) ||
       !keep_best(options.top_k, Measure::count, stop) || !keep_weighed(stop)))
    return std::nullopt;
  if (!weigh(largest, options.temperature, stop)) return std::nullopt;
  if (options.top_p < 1) {
    const auto sum = total(stop);
    if (!sum || !keep_best(*sum * static_cast<double>(options.top_p), Measure::weight, stop))
      return std::nullopt;
  }
  if (options.min_p > 0 && !for_each(count_, stop, [&](std::size_t i) {
        if (weights_[i] < static_cast<double>(options.min_p)) weights_[i] = 0;
      }))
    return std::nullopt;

  const auto sum = total(stop);
  if (!sum) return std::nullopt;
  double left = random.next() * *sum;
  const bool drawn = for_each(count_, stop, [&](std::size_t i) {
    if (weights_[i] == 0) return true;
    last = tokens_[i];
    left -= weights_[i];
    return left >= 0;
  });
  if (!drawn) return std::nullopt;
  return last;
}

}  // namespace tacet
