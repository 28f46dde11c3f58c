#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "text/stop_poll.hpp"
#include "text/token_table.hpp"

namespace tacet {

/// Byte-pair encoding of words by ranked merges (Sennrich et al. 2016, arXiv:1508.07909).
/// O(n log n) in the length of a word. Immutable.
class Bpe {
 public:
  /// Buffers of `encode`, kept from word to word. One a call.
  struct Scratch {
    struct Symbol {
      std::int32_t id;
      std::int32_t previous;
      std::int32_t next;
    };
    struct Candidate {
      std::int32_t rank;
      std::int32_t left;   ///< index of the left symbol
      std::int32_t first;  ///< ids that it was made for: it is stale if they changed
      std::int32_t second;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  /// Reads "left right" lines, best first. Of equal pairs the first counts. Fails with corrupt if a
  /// line is not two pieces, if they or their concatenation are no tokens, and if the pairs are
  /// made to collide. What text may not become, a control token for one, is not merged to.
  static Result<Bpe> build(std::span<const std::string> merges, const TokenTable& tokens);

  /// Merges the tokens of one word, at most 2^31 - 1, and appends what comes out to `ids`. Ends
  /// early if `poll` fired.
  void encode(std::span<const std::int32_t> word, Scratch& scratch, StopPoll& poll,
              std::vector<std::int32_t>& ids) const;

  std::size_t merge_count() const noexcept { return count_; }

 private:
  struct Slot {
    std::int32_t first = -1;
    std::int32_t second = -1;
    std::int32_t rank = 0;
    std::int32_t result = 0;
  };

  /// False if a merge is too far from its slot.
  bool fill(std::span<const Slot> merges, std::uint64_t seed);
  const Slot* find(std::int32_t first, std::int32_t second) const noexcept;
  void push(std::int32_t left, Scratch& scratch) const;

  std::vector<Slot> slots_;  ///< open addressing by the pair of ids; a power of two
  std::uint64_t seed_ = 0;   ///< of their hash
  std::size_t count_ = 0;
};

}  // namespace tacet
