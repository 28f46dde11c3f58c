#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "types/dtype.hpp"

namespace tacet {

/// How the keys and values of a layer lie inside a page: for each head, `page_tokens` rows of
/// `head_size` elements. A row is whole blocks of its type, so no block spans two tokens or two
/// heads.
struct KvLayer {
  std::size_t k_offset;  ///< bytes from the start of a page
  std::size_t v_offset;
  std::uint32_t heads;
  std::uint32_t k_head_size;  ///< elements
  std::uint32_t v_head_size;  ///< 0: there are none, values are a part of the keys
  DType k_type;
  DType v_type;
};

/// One session's part of a run: some consecutive rows, and the cells that they write and see. Cells
/// below `past` are committed; row r writes cell past + r - begin. Cells are in the order in which
/// they were written, positions say where in the text they are.
struct KvSequence {
  std::uint32_t begin = 0;  ///< its rows of the run
  std::uint32_t end = 0;
  std::uint32_t past = 0;
  /// The page table: cell i is in page i / page_tokens. A page that no row of the run sees may be
  /// null. Empty: there are no cells, so the rows write nothing and see nothing.
  std::span<std::byte* const> pages = {};
  /// Where the second device of a plan that has two keeps its layers of the same pages.
  std::span<std::byte* const> upper_pages = {};
  /// Of all cells, also those that the run writes; never falling. Empty: cell i has position i.
  std::span<const std::int32_t> positions = {};

  std::uint32_t rows() const noexcept { return end - begin; }
  std::uint32_t cells() const noexcept { return past + end - begin; }
  std::uint32_t cell_of(std::uint32_t row) const noexcept { return past + row - begin; }
  std::int32_t position_of(std::uint32_t cell) const noexcept {
    return positions.empty() ? static_cast<std::int32_t>(cell) : positions[cell];
  }
};

/// KV memory as a run sees it.
struct KvView {
  /// In the order of their rows, every row of the run in one of them.
  std::span<const KvSequence> sequences;
  std::span<const KvLayer> layers;
  std::uint32_t page_tokens = 0;

  const KvSequence& sequence_of(std::uint32_t row) const noexcept {
    std::size_t i = 0;
    while (row >= sequences[i].end) ++i;
    return sequences[i];
  }
  std::byte* k_row(const KvSequence& sequence, std::uint32_t layer, std::uint32_t head,
                   std::uint32_t cell) const noexcept {
    const KvLayer& l = layers[layer];
    return sequence.pages[cell / page_tokens] + l.k_offset +
           (std::size_t{head} * page_tokens + cell % page_tokens) *
               row_bytes(l.k_type, l.k_head_size);
  }
  std::byte* v_row(const KvSequence& sequence, std::uint32_t layer, std::uint32_t head,
                   std::uint32_t cell) const noexcept {
    const KvLayer& l = layers[layer];
    return sequence.pages[cell / page_tokens] + l.v_offset +
           (std::size_t{head} * page_tokens + cell % page_tokens) *
               row_bytes(l.v_type, l.v_head_size);
  }
};

}  // namespace tacet
