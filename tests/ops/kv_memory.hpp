#pragma once

#include <cstddef>
#include <vector>

#include "graph/kv_view.hpp"
#include "ops/data.hpp"

namespace tacet::op_tests {

/// The keys and values of one layer, and how many cells hold something.
struct KvShape {
  std::uint32_t heads = 2;
  std::uint32_t k_size = 64;
  std::uint32_t v_size = 64;
  DType k_type = DType::f16;
  DType v_type = DType::f16;
  std::uint32_t past = 0;
  std::uint32_t page_tokens = 32;
};

/// Pages in host memory as a session has them, for layer 1 of two, in no simple order. What was not
/// written is not a number.
struct KvMemory {
  static constexpr std::uint32_t layer = 1;

  /// Room for `cells` cells and a page more, all unwritten.
  KvMemory(const KvShape& shape, std::uint32_t cells);

  /// Writes random keys and values to the cells below `cells`; keys have the mean `k_mean`.
  void fill(Random& random, std::uint32_t cells, float k_mean = 0);
  /// Where the pages lie if their bytes start at `base`. The result is what `view` needs.
  std::vector<std::byte*> pages(std::byte* base) const;
  KvView view(std::span<std::byte* const> pages) const noexcept;

  ValueType keys() const { return {shape.k_type, {shape.heads, shape.k_size}}; }
  ValueType values() const { return {shape.v_type, {shape.heads, shape.v_size}}; }

  KvShape shape;
  std::vector<KvLayer> layers;
  std::size_t page_bytes = 0;
  std::vector<std::byte> bytes;
};

}  // namespace tacet::op_tests
