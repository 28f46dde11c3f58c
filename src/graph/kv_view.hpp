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
  std::uint32_t v_head_size;
  DType k_type;
  DType v_type;
};

/// A session's KV memory as a run sees it: a page table. Cell i is in page i / page_tokens. Cells
/// below `past` are committed; the run writes the cells from `past` on. Row r of the run attends to
/// the cells up to past + r.
struct KvView {
  std::span<std::byte* const> pages;
  std::span<const KvLayer> layers;
  std::uint32_t page_tokens = 0;
  std::uint32_t past = 0;

  std::byte* k_row(std::uint32_t layer, std::uint32_t head, std::uint32_t cell) const noexcept {
    const KvLayer& l = layers[layer];
    return pages[cell / page_tokens] + l.k_offset +
           (std::size_t{head} * page_tokens + cell % page_tokens) *
               row_bytes(l.k_type, l.k_head_size);
  }
  std::byte* v_row(std::uint32_t layer, std::uint32_t head, std::uint32_t cell) const noexcept {
    const KvLayer& l = layers[layer];
    return pages[cell / page_tokens] + l.v_offset +
           (std::size_t{head} * page_tokens + cell % page_tokens) *
               row_bytes(l.v_type, l.v_head_size);
  }
};

}  // namespace tacet
