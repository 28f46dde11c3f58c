#pragma once

#include "backends/cpu/ops/cut.hpp"
#include "ops/ops.hpp"

namespace tacet::cpu {

/// top_k: the largest of each group of elements, then, of groups whose largest is not below the
/// k-th largest of these, all. An element and its place are one number, the key, that no two share.
template <typename S>
struct TopK {
  using Key = std::uint64_t;
  static constexpr std::uint32_t group = 64;
  static constexpr std::uint32_t chunk_groups = 128;

  struct Arguments {
    Ref x, largest, out;
    std::uint32_t width, k;
    bool selected;
    [[gnu::always_inline]] std::uint32_t groups() const { return ceil_div(width, group); }
    [[gnu::always_inline]] std::uint32_t chunks() const { return ceil_div(groups(), chunk_groups); }
  };

  /// Ordered as the elements are; of equal ones the first is the largest. 0 belongs to none.
  [[gnu::always_inline]] static Key key_of(float x, std::uint32_t index) {
    x = x == x ? x + 0.0f : -__builtin_inff();  // one zero, and no NaN
    std::uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits = (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
    return Key{bits} << 32 | ~index;
  }
  [[gnu::always_inline]] static float value_of(Key key) {
    auto bits = static_cast<std::uint32_t>(key >> 32);
    bits = (bits & 0x80000000) != 0 ? bits & 0x7fffffff : ~bits;
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  }
  [[gnu::always_inline]] static float index_of(Key key) {
    return static_cast<float>(~static_cast<std::uint32_t>(key));
  }

  /// Puts `key` in the place of the least of a heap.
  [[gnu::always_inline]] static void replace_least(Key* heap, std::uint32_t size, Key key) {
    std::uint32_t at = 0;
    for (std::uint32_t child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && heap[child + 1] < heap[child]) ++child;
      if (key <= heap[child]) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = key;
  }

  /// A heap of the `k` largest keys of those that are offered to it.
  struct Heap {
    Key* keys;
    std::uint32_t k;
    [[gnu::always_inline]] Heap(Key* memory, std::uint32_t size) : keys(memory), k(size) {
      for (std::uint32_t i = 0; i < k; ++i) keys[i] = 0;
    }
    [[gnu::always_inline]] void offer(float x, std::uint32_t index) {
      const Key key = key_of(x, index);
      if (key > keys[0]) replace_least(keys, k, key);
    }
    /// Afterwards the largest comes first.
    [[gnu::always_inline]] void sort() {
      for (std::uint32_t size = k - 1; size > 0; --size) {
        const Key least = keys[0];
        replace_least(keys, size, keys[size]);
        keys[size] = least;
      }
    }
  };

  /// Of those that are numbers; -infinity if none is.
  [[gnu::always_inline]] static float largest_of(const float* x, std::uint32_t n) {
    typename S::F lanes = S::set(-__builtin_inff());
    std::uint32_t i = 0;
    for (; i + S::lanes <= n; i += S::lanes) lanes = S::max(S::load(x + i), lanes);
    float largest = S::largest(lanes);
    for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
  }

  static std::uint32_t chunk_count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return live_rows(a.selected, run) * a.chunks();
  }
  static void largest_of_groups(const void* arguments, const ChunkContext& context,
                                std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const std::size_t row = index / a.chunks();
    const std::uint32_t begin = index % a.chunks() * chunk_groups;
    const std::uint32_t end = least(begin + chunk_groups, a.groups());
    const float* x = resolve_input<float>(a.x, context) + row * a.width;
    float* largest = resolve<float>(a.largest, context) + row * a.groups();
    for (std::uint32_t g = begin; g < end; ++g)
      largest[g] = largest_of(x + g * group, least(group, a.width - g * group));
  }

  static std::uint32_t row_count(const void* arguments, const RunArgs& run) {
    return live_rows(static_cast<const Arguments*>(arguments)->selected, run);
  }
  static void best_of_row(const void* arguments, const ChunkContext& context, std::uint32_t row) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const float* x = resolve_input<float>(a.x, context) + std::size_t{row} * a.width;
    const float* largest = resolve_input<float>(a.largest, context) + std::size_t{row} * a.groups();
    auto* memory = reinterpret_cast<Key*>(context.scratch);
    Heap of_groups(memory, a.k);
    for (std::uint32_t g = 0; g < a.groups(); ++g) of_groups.offer(largest[g], g);
    // At least k elements are not below it.
    const float bound = of_groups.keys[0] != 0 ? value_of(of_groups.keys[0]) : -__builtin_inff();
    Heap best(memory, a.k);
    for (std::uint32_t g = 0; g < a.groups(); ++g) {
      if (largest[g] < bound) continue;
      const std::uint32_t end = least((g + 1) * group, a.width);
      for (std::uint32_t i = g * group; i < end; ++i)
        if (!(x[i] < bound)) best.offer(x[i], i);
    }
    best.sort();
    float* out = resolve<float>(a.out, context) + std::size_t{row} * 2 * a.k;
    for (std::uint32_t i = 0; i < a.k; ++i) {
      out[i] = value_of(best.keys[i]);
      out[a.k + i] = index_of(best.keys[i]);
    }
  }

  static bool supports(const NodeView& view) { return all_f32(view, 1); }
  static std::size_t workspace(const NodeView& view) {
    const ValueType& x = input(view, 0);
    return static_cast<std::size_t>(x.shape.rows()) * ceil_div(width(x), group) * sizeof(float);
  }
  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.x = node.inputs.data()[0];
    a.largest = node.workspace;
    a.out = node.outputs.data()[0];
    a.width = width(input(node.view, 0));
    a.k = static_cast<std::uint32_t>(node.view.attributes->as<ops::TopKAttributes>().k);
    a.selected = node.selected;
    tape.step(a, chunk_count, largest_of_groups);
    tape.step(a, row_count, best_of_row);
  }
};

}  // namespace tacet::cpu
