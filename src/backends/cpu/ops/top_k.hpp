#pragma once

#include "backends/cpu/ops/cut.hpp"
#include "ops/ops.hpp"

namespace tacet::cpu {

/// top_k: the largest of each group of elements; a bound, the k-th largest of these; then the best
/// of all in groups whose largest is not below it. The last two go in rounds of some groups, since
/// equal or rising elements pass every bound. An element and its place are one number, the key,
/// that no two share.
template <typename S>
struct TopK {
  using Key = std::uint64_t;
  static constexpr std::uint32_t group = 64;
  // Groups of a chunk: a key that goes through a heap takes up to 10 ns.
  static constexpr std::uint32_t largest_groups = 128, bound_groups = 1024, best_groups = 32;

  struct Arguments {
    Ref x, workspace, out;
    std::uint32_t width, k;
    bool selected;
    [[gnu::always_inline]] std::uint32_t groups() const { return ceil_div(width, group); }
  };

  /// A row in a run.
  struct Row {
    const float* x;
    float* out;
    Key* bounds;     ///< a heap of the largest of groups
    Key* best;       ///< a heap of elements
    float* largest;  ///< of each group
    [[gnu::always_inline]] Row(const Arguments& a, const ChunkContext& context, std::size_t row) {
      x = resolve_input<float>(a.x, context) + row * a.width;
      out = resolve<float>(a.out, context) + row * 2 * a.k;
      bounds = reinterpret_cast<Key*>(resolve<std::byte>(a.workspace, context) +
                                      row * row_bytes(a.groups(), a.k));
      best = bounds + a.k;
      largest = reinterpret_cast<float*>(best + a.k);
    }
  };
  [[gnu::always_inline]] static std::size_t row_bytes(std::size_t groups, std::size_t k) {
    return 2 * k * sizeof(Key) + (groups + groups % 2) * sizeof(float);
  }

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

  /// Offers a key to a heap of the `k` largest; its first one is the least.
  [[gnu::always_inline]] static void offer(Key* heap, std::uint32_t k, Key key) {
    if (key > heap[0]) replace_least(heap, k, key);
  }
  [[gnu::always_inline]] static void clear(Key* heap, std::uint32_t k) {
    for (std::uint32_t i = 0; i < k; ++i) heap[i] = 0;
  }

  /// Of those that are numbers; -infinity if none is.
  [[gnu::always_inline]] static float largest_of(const float* x, std::uint32_t n) {
    typename S::F lanes = S::set(-__builtin_inff());
    std::uint32_t i = 0;
    for (; i + S::lanes <= n; i += S::lanes) lanes = S::max(S::load(x + i), lanes);
    float largest = S::largest(lanes);
    for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
  }

  static std::uint32_t row_count(const void* arguments, const RunArgs& run) {
    return live_rows(static_cast<const Arguments*>(arguments)->selected, run);
  }
  /// Chunks of so many groups, round after round, in each one of every row.
  template <std::uint32_t Groups>
  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const std::uint32_t groups = static_cast<const Arguments*>(arguments)->groups();
    return row_count(arguments, run) * ceil_div(groups, Groups);
  }
  /// The round before has to have ended.
  static std::uint32_t needs(const void* arguments, const RunArgs& run, std::uint32_t index) {
    const std::uint32_t rows = row_count(arguments, run);
    return index / rows * rows;
  }
  /// Calls `body(row, first, end)` for the groups of a chunk.
  template <std::uint32_t Groups, typename Body>
  [[gnu::always_inline]] static void in_chunk(const Arguments& a, const ChunkContext& context,
                                              std::uint32_t index, Body&& body) {
    const std::uint32_t rows = live_rows(a.selected, *context.run);
    const std::uint32_t first = index / rows * Groups;
    body(Row(a, context, index % rows), first, least(first + Groups, a.groups()));
  }

  static void find_largest(const void* arguments, const ChunkContext& context,
                           std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    in_chunk<largest_groups>(
        a, context, index,
        [&](const Row& row, std::uint32_t first, std::uint32_t end) __attribute__((always_inline)) {
          for (std::uint32_t g = first; g < end; ++g)
            row.largest[g] = largest_of(row.x + g * group, least(group, a.width - g * group));
        });
  }
  static void find_bound(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    in_chunk<bound_groups>(
        a, context, index,
        [&](const Row& row, std::uint32_t first, std::uint32_t end) __attribute__((always_inline)) {
          if (first == 0) clear(row.bounds, a.k);
          for (std::uint32_t g = first; g < end; ++g)
            offer(row.bounds, a.k, key_of(row.largest[g], g));
        });
  }
  static void find_best(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    in_chunk<best_groups>(
        a, context, index,
        [&](const Row& row, std::uint32_t first, std::uint32_t end) __attribute__((always_inline)) {
          if (first == 0) clear(row.best, a.k);
          // At least k elements are not below it.
          const float bound = row.bounds[0] != 0 ? value_of(row.bounds[0]) : -__builtin_inff();
          for (std::uint32_t g = first; g < end; ++g) {
            if (row.largest[g] < bound) continue;
            const std::uint32_t last = least((g + 1) * group, a.width);
            for (std::uint32_t i = g * group; i < last; ++i)
              if (!(row.x[i] < bound)) offer(row.best, a.k, key_of(row.x[i], i));
          }
        });
  }

  static void write(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Row row(a, context, index);
    for (std::uint32_t size = a.k; size > 0; --size) {
      const Key least_key = row.best[0];
      replace_least(row.best, size - 1, row.best[size - 1]);
      row.out[size - 1] = value_of(least_key);
      row.out[a.k + size - 1] = index_of(least_key);
    }
  }

  static bool supports(const NodeView& view) { return all_f32(view, 1); }
  static std::size_t workspace(const NodeView& view) {
    const ValueType& x = input(view, 0);
    const auto k = static_cast<std::size_t>(view.attributes->as<ops::TopKAttributes>().k);
    return static_cast<std::size_t>(x.shape.rows()) * row_bytes(ceil_div(width(x), group), k);
  }
  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.x = node.inputs.data()[0];
    a.workspace = node.workspace;
    a.out = node.outputs.data()[0];
    a.width = width(input(node.view, 0));
    a.k = static_cast<std::uint32_t>(node.view.attributes->as<ops::TopKAttributes>().k);
    a.selected = node.selected;
    tape.step(a, count<largest_groups>, find_largest);
    tape.step(a, count<bound_groups>, find_bound, needs);
    tape.step(a, count<best_groups>, find_best, needs);
    tape.step(a, row_count, write);
  }
};

}  // namespace tacet::cpu
