#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacet/session.hpp"

namespace tacet {

/// A random generator whose whole state is two numbers, so that a draw is rolled back by not
/// keeping the state. The n-th number is SplitMix64's finalizer over seed and n (Steele, Lea,
/// Flood: Fast splittable pseudorandom number generators, 2014).
struct RandomState {
  std::uint64_t seed = 0x7461636574;
  std::uint64_t drawn = 0;

  /// Uniform in [0, 1), 53 bits.
  double next() noexcept;
  friend bool operator==(const RandomState&, const RandomState&) noexcept = default;
};

/// Checks that options make sense; the error says which does not.
Result<void> check(const SamplerOptions& options);

/// How many of the most likely tokens a run of a model gives at most, with ops::top_k; 0 where it
/// has too many for that.
std::uint32_t candidate_count(std::uint32_t vocabulary) noexcept;

/// Chooses tokens. Holds scratch memory for one vocabulary, so that choosing does not allocate. One
/// thread at a time.
class Sampler {
 public:
  explicit Sampler(std::uint32_t vocabulary);

  /// Chooses the next token. In this order: repeat penalty over the last `repeat_last` of
  /// `history`, top_k, temperature, top_p, min_p, a draw from `random`. Of equal logits the lower
  /// id is the better. Takes a few passes over the vocabulary, never a sort, and looks at `stop`
  /// every few microseconds; returns nothing if it fired. NaN is never chosen unless there is
  /// nothing else.
  std::optional<Token> choose(std::span<const float> logits, std::span<const Token> history,
                              const SamplerOptions& options, RandomState& random,
                              const StopToken& stop);

  /// Whether the candidates of a run are all that `choose` would look at behind top_k: then
  /// choosing from them gives the same token, and the same state of the generator.
  bool is_enough(std::size_t history_size, const SamplerOptions& options) const noexcept;
  /// Where a run puts its candidates: ops::top_k of the logits.
  float* candidates() noexcept { return candidates_.data(); }
  /// The same from the candidates.
  std::optional<Token> choose_candidate(std::span<const Token> history,
                                        const SamplerOptions& options, RandomState& random,
                                        const StopToken& stop);

 private:
  /// The worst token that is kept: its logit's key, and the highest id among equal ones.
  struct Cut {
    std::uint32_t key;
    std::size_t token;
  };
  enum class Measure { count, weight };

  std::optional<Token> choose_listed(std::span<const Token> history, const SamplerOptions& options,
                                     RandomState& random, const StopToken& stop);
  bool list_all(std::span<const float> logits, const StopToken& stop);
  void list_candidates();
  bool keep_weighed(const StopToken& stop);
  bool penalize(std::span<const Token> recent, float penalty, const StopToken& stop);
  bool weigh(float best, float temperature, const StopToken& stop);
  std::optional<double> total(const StopToken& stop) const;
  std::optional<Cut> find_cut(double target, Measure measure, const StopToken& stop) const;
  bool keep_best(double target, Measure measure, const StopToken& stop);

  std::vector<float> candidates_;  ///< logits, the largest first, then tokens
  // The tokens to choose from, ascending: the first `count_` of these.
  std::size_t count_ = 0;
  std::vector<Token> tokens_;
  std::vector<float> logits_;
  std::vector<double> weights_;  ///< relative to the best token; 0: not to choose from
};

}  // namespace tacet
