#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/piece_table.hpp"

namespace tacet {

/// Byte-pair encoding of words by ranked merges (Sennrich et al. 2016, arXiv:1508.07909), starting
/// from single bytes (Radford et al. 2019). O(n log n) in the length of a word. Immutable.
class ByteBpe {
 public:
  /// Buffers of `encode_word`, kept from word to word. One a call.
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
  /// line is not two pieces, if they or their concatenation are not in `texts`, and if the pairs
  /// are made to collide.
  static Result<ByteBpe> build(std::span<const std::string> merges, const PieceTable& texts);

  /// Appends the ids of one word (any bytes, at most 2^31 - 1) to `ids`. Fails with unsupported if
  /// the vocabulary has no token for one of its bytes.
  Result<void> encode_word(std::string_view word, Scratch& scratch,
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

  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<Slot> slots_;  ///< open addressing by the pair of ids; a power of two
  std::uint64_t seed_ = 0;   ///< of their hash
  std::size_t count_ = 0;
};

}  // namespace tacet
