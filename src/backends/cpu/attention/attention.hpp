#pragma once

#include "backends/cpu/attention/fold.hpp"
#include "backends/cpu/ops/cut.hpp"
#include "ops/ops.hpp"

namespace tacet::cpu {

/// A query's keys are split at absolute multiples of a size that follows from their number alone;
/// each split is a softmax of its own, and they are merged in order. So its answer has the same
/// bits in every plan, with any number of other rows, and with any cut of the work.
inline constexpr std::uint32_t max_splits = 128;
/// What a multiply-add costs here beside one of a matrix product: keys are converted for few
/// queries, and there are exponentials.
inline constexpr double mac_factor = 1.6;

/// Plans up to this many rows do all splits at once, then merge; larger ones go through the splits
/// in rounds, for which rows are work enough.
inline constexpr std::uint32_t few_rows = 8;
inline constexpr std::uint32_t max_rounds = 64;

/// What both forms know of their node.
struct AttentionShape {
  Ref q, out, workspace;
  std::uint32_t layer, rows, heads, kv_heads, k_size, v_size;
  DType k_type, v_type;
  float scale;
  std::uint32_t split;   ///< the size of a split while there are at most `max_splits`
  std::uint32_t splits;  ///< the most that a run of the plan has

  [[gnu::always_inline]] std::uint32_t group() const { return heads / kv_heads; }
  [[gnu::always_inline]] std::uint32_t split_of(std::uint32_t keys) const {
    std::uint32_t size = split;
    while (size < 0x40000000u && ceil_div(keys, size) > max_splits) size *= 2;
    return size;
  }
  /// Queries that may be answered together, so that `keys` keys of each make one chunk.
  template <typename S>
  [[gnu::always_inline]] std::uint32_t queries_for(std::uint32_t keys) const {
    const double seconds = mac_factor * S::mac_seconds * keys * (k_size + v_size);
    const double n = target_seconds / seconds;
    return n < 1 ? 1 : n > max_queries ? max_queries : static_cast<std::uint32_t>(n);
  }
  [[gnu::always_inline]] KvHead kv_head(const RunArgs& run, std::uint32_t head) const {
    return {&run.kv, layer, head, k_size, v_size, k_type, v_type, scale};
  }
};

[[gnu::always_inline]] inline AttentionShape attention_shape(const NodeView& view) {
  const auto attributes = view.attributes->as<ops::AttentionAttributes>();
  const ValueType &keys = input(view, 1), &values = input(view, 2);
  AttentionShape a{};
  a.rows = static_cast<std::uint32_t>(input(view, 0).shape[0]);
  a.heads = static_cast<std::uint32_t>(attributes.heads);
  a.kv_heads = static_cast<std::uint32_t>(keys.shape[0]);
  a.k_size = width(keys);
  a.v_size = width(values);
  a.k_type = keys.dtype;
  a.v_type = values.dtype;
  a.scale = attributes.scale;
  // 64 KiB from memory take a slow core half as long as a chunk should; and while a split is short,
  // many queries can share the work of reading it.
  const std::size_t bytes = offset(a.k_type, a.k_size) + offset(a.v_type, a.v_size);
  a.split = bytes <= 512 ? 128 : 64;
  a.splits = least(ceil_div(static_cast<std::uint32_t>(attributes.max_keys), a.split), max_splits);
  return a;
}
[[gnu::always_inline]] inline AttentionShape attention_shape(const PlacedNode& node) {
  AttentionShape a = attention_shape(node.view);
  a.q = node.inputs.data()[0];
  a.out = node.outputs.data()[0];
  a.workspace = node.workspace;
  a.layer = node.inputs.data()[1].layer;
  return a;
}

/// Few rows: one step for the splits of all heads, one to merge them.
template <typename S>
struct SplitAttention {
  struct Arguments {
    AttentionShape a;
    [[gnu::always_inline]] std::uint32_t keys(const RunArgs& run, std::uint32_t row) const {
      return run.kv.past + row + 1;
    }
    [[gnu::always_inline]] std::uint32_t splits(const RunArgs& run, std::uint32_t row) const {
      return least(ceil_div(keys(run, row), a.split_of(keys(run, row))), a.splits);
    }
    /// The most that any row has: it falls where the size of a split doubles.
    [[gnu::always_inline]] std::uint32_t splits(const RunArgs& run) const {
      std::uint32_t n = 0;
      for (std::uint32_t row = 0; row < run.rows; ++row) n = most(n, splits(run, row));
      return n;
    }
    [[gnu::always_inline]] std::uint32_t heads_per_chunk(const RunArgs& run) const {
      const std::uint32_t longest = a.split_of(run.kv.past + run.rows);
      return least(a.group(), a.template queries_for<S>(least(longest, run.kv.past + run.rows)));
    }
    [[gnu::always_inline]] std::uint32_t merged_heads(const RunArgs& run) const {
      return items_per_chunk(a.heads, splits(run) * a.v_size * S::element_seconds);
    }
    /// The place of a split's softmax: its values, the largest score, the sum.
    [[gnu::always_inline]] float* slot(float* workspace, std::uint32_t row, std::uint32_t head,
                                       std::uint32_t split) const {
      return workspace +
             ((std::size_t{row} * a.heads + head) * a.splits + split) * (padded(a.v_size) + 8);
    }
  };

  static std::size_t workspace(const NodeView& view) {
    const AttentionShape a = attention_shape(view);
    if (a.splits <= 1) return 0;
    return std::size_t{a.rows} * a.heads * a.splits * (padded(a.v_size) + 8) * sizeof(float);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    if (run.rows == 0) return 0;
    return s.splits(run) * s.a.kv_heads * ceil_div(s.a.group(), s.heads_per_chunk(run)) * run.rows;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const AttentionShape& a = s.a;
    const RunArgs& run = *context.run;
    const std::uint32_t per_chunk = s.heads_per_chunk(run);
    const std::uint32_t parts = ceil_div(a.group(), per_chunk);
    const std::uint32_t part = index % parts;
    const std::uint32_t row = index / parts % run.rows;
    const std::uint32_t kv_head = index / parts / run.rows % a.kv_heads;
    const std::uint32_t split = index / parts / run.rows / a.kv_heads;
    const std::uint32_t splits = s.splits(run, row);
    if (split >= splits) return;

    const float* q = resolve_input<float>(a.q, context);
    float* out = resolve<float>(a.out, context);
    float* partial = resolve<float>(a.workspace, context);
    float* scratch = reinterpret_cast<float*>(context.scratch);
    float* values = scratch + fold_scratch_floats(a.k_size, a.v_size);
    const std::uint32_t first = kv_head * a.group() + part * per_chunk;
    const std::uint32_t n = least(per_chunk, a.group() - part * per_chunk);
    Query queries[max_queries];
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t head = std::size_t{row} * a.heads + first + i;
      queries[i].q = q + head * a.k_size;
      queries[i].keys = s.keys(run, row);
      queries[i].state.values =
          splits == 1 ? values + i * padded(a.v_size) : s.slot(partial, row, first + i, split);
      clear<S>(queries[i].state, a.v_size);
    }
    const std::uint32_t size = a.split_of(s.keys(run, row));
    fold_keys<S>(a.kv_head(run, kv_head), queries, n, split * size, (split + 1) * size, scratch);
    for (std::uint32_t i = 0; i < n; ++i) {
      Softmax& state = queries[i].state;
      if (splits == 1) {
        finish<S>(state, a.v_size, out + (std::size_t{row} * a.heads + first + i) * a.v_size);
      } else {
        state.values[padded(a.v_size)] = state.largest;
        state.values[padded(a.v_size) + 1] = state.sum;
      }
    }
  }

  static std::uint32_t merge_count(const void* arguments, const RunArgs& run) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    if (s.splits(run) <= 1) return 0;
    return run.rows * ceil_div(s.a.heads, s.merged_heads(run));
  }

  static void merge_chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const AttentionShape& a = s.a;
    const RunArgs& run = *context.run;
    const std::uint32_t per_chunk = s.merged_heads(run);
    const std::uint32_t parts = ceil_div(a.heads, per_chunk);
    const std::uint32_t row = index / parts;
    const std::uint32_t splits = s.splits(run, row);
    if (splits == 1) return;
    float* out = resolve<float>(a.out, context);
    float* partial = resolve<float>(a.workspace, context);
    const std::uint32_t end = least((index % parts + 1) * per_chunk, a.heads);
    for (std::uint32_t head = index % parts * per_chunk; head < end; ++head) {
      Softmax whole{};
      for (std::uint32_t split = 0; split < splits; ++split) {
        float* values = s.slot(partial, row, head, split);
        const Softmax next{values[padded(a.v_size)], values[padded(a.v_size) + 1], values};
        if (split == 0)
          whole = next;
        else
          merge<S>(whole, next, a.v_size);
      }
      finish<S>(whole, a.v_size, out + (std::size_t{row} * a.heads + head) * a.v_size);
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const Arguments s{attention_shape(node)};
    tape.step(s, count, chunk);
    if (s.a.splits > 1) tape.step(s, merge_count, merge_chunk);
  }
};

/// Many rows: up to `max_rounds` steps, of which a run uses as many as its keys ask for. Between
/// rounds the values wait in the output, the other numbers in the workspace.
template <typename S>
struct RoundAttention {
  struct Arguments {
    AttentionShape a;
    std::uint32_t round;
  };
  /// What the chunks of a round are.
  struct Cut {
    std::uint32_t begin, end;        ///< keys
    std::uint32_t heads, rows;       ///< of a chunk
    std::uint32_t parts, row_tiles;  ///< chunks of a head of the keys: `parts` x `row_tiles`
    std::uint32_t count;
  };

  [[gnu::always_inline]] static Cut cut(const Arguments& s, const RunArgs& run) {
    const AttentionShape& a = s.a;
    const std::uint32_t keys = run.kv.past + run.rows;
    // All smaller splits end where the largest do.
    const std::uint32_t split = a.split_of(keys);
    // Some queries share the work of reading keys.
    const double fit = target_seconds / (mac_factor * S::mac_seconds * 8 * (a.k_size + a.v_size));
    const std::uint32_t wanted = static_cast<std::uint32_t>(fit) / split * split;
    const std::uint32_t needed = ceil_div(ceil_div(keys, split), max_rounds) * split;
    const std::uint32_t span = most(most(wanted, needed), split);
    Cut c{};
    if (run.rows == 0 || s.round >= ceil_div(keys, span)) return c;
    c.begin = s.round * span;
    c.end = least(keys, c.begin + span);
    const std::uint32_t queries = a.template queries_for<S>(c.end - c.begin);
    c.heads = least(a.group(), queries);
    c.rows = most(queries / c.heads, 1u);
    c.parts = ceil_div(a.group(), c.heads);
    c.row_tiles = ceil_div(run.rows, c.rows);
    c.count = a.kv_heads * c.parts * c.row_tiles;
    return c;
  }

  static std::size_t workspace(const NodeView& view) {
    const AttentionShape a = attention_shape(view);
    return std::size_t{a.rows} * a.heads * 2 * sizeof(float);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return cut(*static_cast<const Arguments*>(arguments), run).count;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const AttentionShape& a = s.a;
    const RunArgs& run = *context.run;
    const Cut c = cut(s, run);
    const std::uint32_t tile = index % c.row_tiles;
    const std::uint32_t part = index / c.row_tiles % c.parts;
    const std::uint32_t kv_head = index / c.row_tiles / c.parts;
    const std::uint32_t first_head = kv_head * a.group() + part * c.heads;
    const std::uint32_t heads = least(c.heads, a.group() - part * c.heads);
    const std::uint32_t row_end = least((tile + 1) * c.rows, run.rows);

    const float* q = resolve_input<float>(a.q, context);
    float* out = resolve<float>(a.out, context);
    float* waiting = resolve<float>(a.workspace, context);
    float* scratch = reinterpret_cast<float*>(context.scratch);
    float* values = scratch + fold_scratch_floats(a.k_size, a.v_size);
    Query queries[max_queries];
    std::size_t places[max_queries];
    std::uint32_t n = 0;
    for (std::uint32_t row = tile * c.rows; row < row_end; ++row) {
      if (run.kv.past + row < c.begin) continue;
      for (std::uint32_t head = first_head; head < first_head + heads; ++head, ++n) {
        places[n] = std::size_t{row} * a.heads + head;
        queries[n].q = q + places[n] * a.k_size;
        queries[n].keys = run.kv.past + row + 1;
        queries[n].state.values = values + n * padded(a.v_size);
        clear<S>(queries[n].state, a.v_size);
      }
    }
    if (n == 0) return;
    const KvHead h = a.kv_head(run, kv_head);
    for (std::uint32_t begin = c.begin; begin < c.end; begin += a.split) {
      const std::uint32_t end = begin + a.split;
      fold_keys<S>(h, queries, n, begin, end, scratch);
      for (std::uint32_t i = 0; i < n; ++i) {
        Query& query = queries[i];
        if (query.keys <= begin) continue;
        const std::uint32_t split = a.split_of(query.keys);
        if (end % split != 0 && query.keys > end) continue;
        float* numbers = waiting + places[i] * 2;
        Softmax whole{numbers[0], numbers[1], out + places[i] * a.v_size};
        if (begin < split)
          copy<S>(whole, query.state, a.v_size);
        else
          merge<S>(whole, query.state, a.v_size);
        clear<S>(query.state, a.v_size);
        numbers[0] = whole.largest;
        numbers[1] = whole.sum;
        if (query.keys <= end) finish<S>(whole, a.v_size, whole.values);
      }
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments s{attention_shape(node), 0};
    const std::uint32_t rounds = least(s.a.splits, max_rounds);
    for (; s.round < rounds; ++s.round) tape.step(s, count, chunk);
  }
};

/// attention.
template <typename S>
struct Attention {
  static_assert((fold_scratch_floats(max_head_size, max_head_size) +
                 std::size_t{max_queries} * max_head_size) *
                    sizeof(float) <=
                scratch_bytes);

  [[gnu::always_inline]] static bool few(const NodeView& view) {
    return input(view, 0).shape[0] <= few_rows;
  }

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != 3 || input(view, 0).dtype != DType::f32) return false;
    for (std::size_t i = 1; i < 3; ++i) {
      const ValueType& state = input(view, i);
      if (!is_read(state.dtype) || state.shape.rank() != 2) return false;
      if (state.dtype == DType::q8_0 && width(state) % 32 != 0) return false;
      if (width(state) == 0 || width(state) > max_head_size) return false;
    }
    const auto attributes = view.attributes->as<ops::AttentionAttributes>();
    const std::int64_t heads = attributes.heads;
    if (attributes.max_keys <= 0) return false;
    const std::int64_t kv_heads = input(view, 1).shape[0];
    return kv_heads > 0 && heads > 0 && heads % kv_heads == 0 &&
           input(view, 2).shape[0] == kv_heads &&
           input(view, 0).shape.width() == heads * input(view, 1).shape.width();
  }

  static std::size_t workspace(const NodeView& view) {
    return few(view) ? SplitAttention<S>::workspace(view) : RoundAttention<S>::workspace(view);
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    if (few(node.view))
      SplitAttention<S>::emit(node, tape);
    else
      RoundAttention<S>::emit(node, tape);
  }
};

}  // namespace tacet::cpu
