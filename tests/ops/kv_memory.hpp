#pragma once

#include <cstddef>
#include <vector>

#include "graph/kv_view.hpp"
#include "ops/data.hpp"

namespace tacet::op_tests {

/// The keys and values of one layer, and how many cells hold something before the run.
struct KvShape {
  std::uint32_t heads = 2;
  std::uint32_t k_size = 64;
  std::uint32_t v_size = 64;  ///< 0: there are no values
  DType k_type = DType::f16;
  DType v_type = DType::f16;
  std::uint32_t past = 0;
  std::uint32_t page_tokens = 32;
};

/// Pages in host memory as a session has them, for layer 1 of two, in no simple order. What was not
/// written is not a number. One sequence of a run.
struct KvMemory {
  static constexpr std::uint32_t layer = 1;
  static constexpr std::uint32_t all_rows = 0xffffffff;

  /// Room for `cells` cells and a page more, all unwritten.
  KvMemory(const KvShape& shape, std::uint32_t cells);

  /// Writes random keys and values to the cells below `cells`; keys have the mean `k_mean`.
  void fill(Random& random, std::uint32_t cells, float k_mean = 0);
  /// Where the pages lie if their bytes start at `base`. The result is what `view` needs.
  std::vector<std::byte*> pages(std::byte* base) const;
  /// Makes it the sequence of rows of which there are `count`; without it, it has the whole run.
  KvMemory of(std::uint32_t count) &&;

  ValueType keys() const { return {shape.k_type, {shape.heads, shape.k_size}}; }
  ValueType values() const { return {shape.v_type, {shape.heads, shape.v_size}}; }

  /// The states as inputs of a node.
  Input keys_input() const;
  Input values_input() const;

  KvShape shape;
  std::uint32_t rows = all_rows;
  std::vector<std::int32_t> positions;  ///< of all cells; empty: their numbers
  std::uint32_t unseen_pages = 0;       ///< so many pages at the beginning are null in the run
  bool has_cells = true;                ///< without, its rows see nothing
  std::vector<KvLayer> layers;
  std::size_t page_bytes = 0;
  std::vector<std::byte> bytes;
};

/// The KV memory of a run, with all that a view of it points to.
class KvRun {
 public:
  /// `base` holds the bytes of all memories, one behind the other.
  KvRun(std::span<const KvMemory> memories, std::byte* base, std::uint32_t rows);
  KvRun(const KvRun&) = delete;
  KvRun& operator=(const KvRun&) = delete;

  const KvView& view() const noexcept { return view_; }

 private:
  std::vector<std::vector<std::byte*>> pages_;
  std::vector<KvSequence> sequences_;
  KvView view_;
};

/// The bytes of all memories.
std::vector<std::byte> bytes_of(std::span<const KvMemory> memories);

}  // namespace tacet::op_tests
