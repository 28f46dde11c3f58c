#pragma once

#include "backends/cpu/attention/shape.hpp"

namespace tacet::cpu {

/// Attention of a plan with few rows: chunks are splits of the keys. They go in rounds of some
/// splits, whose softmaxes wait in the workspace, and each round ends with chunks that merge them
/// into what came before, which waits in the output.
template <typename S>
struct SplitAttention {
  /// A round has as many splits as fit into this much workspace, within these limits.
  static constexpr std::size_t round_bytes = 8 << 20;
  static constexpr std::uint32_t least_splits = 4, most_splits = 64;

  struct Arguments {
    AttentionShape a;
    std::uint32_t round;     ///< splits in a round
    std::uint32_t rounds;    ///< the most that a run of the plan has
    std::uint32_t together;  ///< heads in a chunk of splits
    std::uint32_t piece;     ///< elements of a head's values that are merged at once
    std::uint32_t merges;    ///< of pieces, in a chunk that merges
    /// The place of a split's softmax: its values, the largest score, the sum.
    [[gnu::always_inline]] float* slot(float* workspace, std::uint32_t row, std::uint32_t head,
                                       std::uint32_t split) const {
      return workspace + ((std::size_t{row} * a.heads + head) * round + split) * slot_floats(a);
    }
    /// The largest score and the sum of all rounds before `before`.
    [[gnu::always_inline]] float* numbers(float* workspace, std::uint32_t row, std::uint32_t head,
                                          std::uint32_t before) const {
      const std::size_t heads = std::size_t{a.rows} * a.heads;
      return workspace + heads * round * slot_floats(a) +
             ((before % 2) * heads + std::size_t{row} * a.heads + head) * 2;
    }
    [[gnu::always_inline]] std::uint32_t splits(const RunArgs& run, std::uint32_t row) const {
      return a.splits(a.cells(run.kv.sequence_of(row), row));
    }
  };

  /// How the chunks of a run are numbered: rounds of chunks of splits and chunks that merge.
  struct Cut {
    std::uint32_t splits = 1;         ///< the most of a row
    std::uint32_t parts;              ///< chunks of splits in a group of heads
    std::uint32_t pieces, per_merge;  ///< of all heads of a row; in a chunk that merges
    std::uint32_t split_chunks;       ///< of one split
    std::uint32_t merge_chunks;       ///< of a round
    std::uint32_t last_round, full_round;

    [[gnu::always_inline]] Cut(const Arguments& s, const RunArgs& run) {
      const AttentionShape& a = s.a;
      for (std::uint32_t row = 0; row < run.rows; ++row) splits = most(splits, s.splits(run, row));
      parts = ceil_div(a.group(), s.together);
      split_chunks = a.kv_heads * parts * run.rows;
      pieces = a.heads * ceil_div(a.v_size, s.piece);
      per_merge = least(most(s.merges / least(splits, s.round), 1u), pieces);
      merge_chunks = splits == 1 ? 0 : run.rows * ceil_div(pieces, per_merge);
      last_round = (splits - 1) / s.round;
      full_round = s.round * split_chunks + merge_chunks;
    }
    [[gnu::always_inline]] std::uint32_t round_of(std::uint32_t index) const {
      return least(index / full_round, last_round);
    }
    /// Chunks of splits in a round.
    [[gnu::always_inline]] std::uint32_t splitting(const Arguments& s, std::uint32_t round) const {
      return least(splits - round * s.round, s.round) * split_chunks;
    }
  };

  [[gnu::always_inline]] static std::uint32_t slot_floats(const AttentionShape& a) {
    return padded<S>(a.v_size) + S::lanes;
  }
  [[gnu::always_inline]] static Arguments arguments_of(const AttentionShape& a) {
    const std::size_t split_bytes = std::size_t{a.rows} * a.heads * slot_floats(a) * sizeof(float);
    const auto fit = static_cast<std::uint32_t>(least<std::size_t>(
        most_splits, most<std::size_t>(least_splits, round_bytes / split_bytes)));
    const std::uint32_t splits = ceil_div(a.max_keys, a.split);
    const std::uint32_t round = least(fit, splits);
    const auto elements = static_cast<std::uint32_t>(target_seconds / S::element_seconds);
    const std::uint32_t piece =
        least(most(elements / round / S::lanes, 1u) * S::lanes, padded<S>(a.v_size));
    const std::uint32_t together = least(a.group(), a.template queries_for<S>(a.split));
    return {a, round, ceil_div(splits, round), together, piece, elements / piece};
  }

  static std::size_t workspace(const NodeView& view) {
    const Arguments s = arguments_of(attention_shape(view));
    const std::size_t heads = std::size_t{s.a.rows} * s.a.heads;
    if (s.round <= 1) return 0;
    return heads * (s.round * slot_floats(s.a) + (s.rounds > 1 ? 4 : 0)) * sizeof(float);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    if (run.rows == 0) return 0;
    const Cut c(s, run);
    return c.last_round * c.full_round + c.splitting(s, c.last_round) + c.merge_chunks;
  }

  static std::uint32_t needs(const void* arguments, const RunArgs& run, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const Cut c(s, run);
    const std::uint32_t round = c.round_of(index), before = round * c.full_round;
    const std::uint32_t splitting = c.splitting(s, round);
    return index - before < splitting ? before : before + splitting;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const Cut c(s, *context.run);
    const std::uint32_t round = c.round_of(index), splitting = c.splitting(s, round);
    const std::uint32_t i = index - round * c.full_round;
    if (i < splitting)
      split_chunk(s, c, context, round, i);
    else
      merge_chunk(s, c, context, round, i - splitting);
  }

  [[gnu::always_inline]] static void split_chunk(const Arguments& s, const Cut& c,
                                                 const ChunkContext& context, std::uint32_t round,
                                                 std::uint32_t index) {
    const AttentionShape& a = s.a;
    const RunArgs& run = *context.run;
    const std::uint32_t part = index % c.parts;
    const std::uint32_t row = index / c.parts % run.rows;
    const std::uint32_t kv_head = index / c.parts / run.rows % a.kv_heads;
    const std::uint32_t in_round = index / c.parts / run.rows / a.kv_heads;
    const std::uint32_t first = kv_head * a.group() + part * s.together;
    const std::uint32_t n = least(s.together, a.group() - part * s.together);
    const KvSequence& sequence = run.kv.sequence_of(row);
    const CellRange range = a.cells(sequence, row);
    const std::uint32_t splits = a.splits(range), split = round * s.round + in_round;
    float* out = resolve<float>(a.out, context);
    if (splits == 0 && split == 0) return answer_nothing(a, out, row, first, n);
    if (split >= splits) return;

    const float* q = resolve_input<float>(a.q, context);
    float* partial = resolve<float>(a.workspace, context);
    float* scratch = reinterpret_cast<float*>(context.scratch);
    float* values = scratch + fold_scratch_floats<S>(a.k_size, a.v_size);
    Query queries[max_queries];
    for (std::uint32_t i = 0; i < n; ++i) {
      queries[i] = a.query(q, sequence, row, range, first + i);
      queries[i].state.values = splits == 1 ? values + i * padded<S>(a.v_size)
                                            : s.slot(partial, row, first + i, in_round);
      clear<S>(queries[i].state, a.v_size);
    }
    const std::uint32_t begin = (range.begin / a.split + split) * a.split;
    fold_keys<S>(a.kv_head(run.kv, sequence, kv_head), queries, n, begin, begin + a.split, scratch);
    for (std::uint32_t i = 0; i < n; ++i) {
      Softmax& state = queries[i].state;
      if (splits == 1) {
        finish<S>(state, a.sink(context, first + i), 0, a.v_size,
                  out + (std::size_t{row} * a.heads + first + i) * a.v_size);
      } else {
        state.values[padded<S>(a.v_size)] = state.largest;
        state.values[padded<S>(a.v_size) + 1] = state.sum;
      }
    }
  }

  [[gnu::always_inline]] static void merge_chunk(const Arguments& s, const Cut& c,
                                                 const ChunkContext& context, std::uint32_t round,
                                                 std::uint32_t index) {
    const AttentionShape& a = s.a;
    const std::uint32_t chunks = ceil_div(c.pieces, c.per_merge);
    const std::uint32_t row = index / chunks;
    const std::uint32_t splits = s.splits(*context.run, row), done = round * s.round;
    if (splits <= 1 || splits <= done) return;
    float* out = resolve<float>(a.out, context);
    float* partial = resolve<float>(a.workspace, context);
    const std::uint32_t in_round = least(splits - done, s.round);
    const std::uint32_t end_piece = least((index % chunks + 1) * c.per_merge, c.pieces);
    for (std::uint32_t i = index % chunks * c.per_merge; i < end_piece; ++i) {
      const std::uint32_t head = i % a.heads, begin = i / a.heads * s.piece;
      const std::uint32_t end = least(begin + s.piece, a.v_size);
      Softmax whole{};
      whole.values = out + (std::size_t{row} * a.heads + head) * a.v_size;
      if (round != 0) {
        const float* numbers = s.numbers(partial, row, head, round);
        whole.largest = numbers[0];
        whole.sum = numbers[1];
      }
      for (std::uint32_t split = 0; split < in_round; ++split) {
        float* values = s.slot(partial, row, head, split);
        const Softmax next{values[padded<S>(a.v_size)], values[padded<S>(a.v_size) + 1], values};
        if (done + split == 0)
          copy(whole, next, begin, end);
        else
          merge<S>(whole, next, begin, end);
      }
      if (done + in_round == splits) {
        finish<S>(whole, a.sink(context, head), begin, end, whole.values);
      } else if (begin == 0) {
        float* numbers = s.numbers(partial, row, head, round + 1);
        numbers[0] = whole.largest;
        numbers[1] = whole.sum;
      }
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    tape.step(arguments_of(attention_shape(node)), count, chunk, needs);
  }
};

}  // namespace tacet::cpu
