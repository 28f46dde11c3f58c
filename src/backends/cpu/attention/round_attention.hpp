#pragma once

#include "backends/cpu/attention/shape.hpp"

namespace tacet::cpu {

/// Attention of a plan with many rows: chunks are some heads of some rows of one sequence. They go
/// through the keys in rounds, and between rounds the values wait in the output, the other numbers
/// in the workspace.
template <typename S>
struct RoundAttention {
  struct Arguments {
    AttentionShape a;
    std::uint32_t span;  ///< keys of a round: whole splits
  };
  /// How the chunks of a run are numbered: rounds of equal numbers of units.
  struct Cut {
    std::uint32_t heads, rows;  ///< of a unit
    std::uint32_t parts;        ///< units in a group of heads
    std::uint32_t tiles = 0;    ///< units in the rows
    std::uint32_t rounds = 0;
    std::uint32_t units;

    [[gnu::always_inline]] Cut(const Arguments& s, const RunArgs& run) {
      const AttentionShape& a = s.a;
      const KvSequence* sequences = run.kv.sequences.data();
      const std::size_t n = run.kv.sequences.size();
      std::uint32_t longest = 1;
      for (std::size_t i = 0; i < n; ++i) longest = most(longest, sequences[i].cells());
      const std::uint32_t queries = a.template queries_for<S>(least(s.span, longest));
      heads = least(a.group(), queries);
      rows = most(queries / heads, 1u);
      parts = ceil_div(a.group(), heads);
      for (std::size_t i = 0; i < n; ++i) {
        if (sequences[i].rows() == 0) continue;
        tiles += ceil_div(sequences[i].rows(), rows);
        const CellRange first = a.cells(sequences[i], sequences[i].begin);
        const CellRange all{first.begin, sequences[i].cells()};
        rounds = most(rounds, ceil_div(a.splits(all) * a.split, s.span));
      }
      units = a.kv_heads * parts * tiles;
    }
    /// The rows of a tile: [begin, end) of the sequence that is given back.
    [[gnu::always_inline]] const KvSequence& tile(const RunArgs& run, std::uint32_t index,
                                                  CellRange& range) const {
      const KvSequence* sequence = run.kv.sequences.data();
      for (;; ++sequence) {
        const std::uint32_t here = ceil_div(sequence->rows(), rows);
        if (index < here) break;
        index -= here;
      }
      range.begin = sequence->begin + index * rows;
      range.end = least(range.begin + rows, sequence->end);
      return *sequence;
    }
  };

  static std::size_t workspace(const NodeView& view) {
    const AttentionShape a = attention_shape(view);
    return std::size_t{a.rows} * a.heads * 2 * sizeof(float);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Cut c(*static_cast<const Arguments*>(arguments), run);
    return c.rounds * c.units;
  }

  static std::uint32_t needs(const void* arguments, const RunArgs& run, std::uint32_t index) {
    const Cut c(*static_cast<const Arguments*>(arguments), run);
    return index / c.units * c.units;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& s = *static_cast<const Arguments*>(arguments);
    const AttentionShape& a = s.a;
    const RunArgs& run = *context.run;
    const Cut c(s, run);
    const std::uint32_t round = index / c.units, unit = index % c.units;
    CellRange rows{};
    const KvSequence& sequence = c.tile(run, unit % c.tiles, rows);
    const std::uint32_t part = unit / c.tiles % c.parts;
    const std::uint32_t kv_head = unit / c.tiles / c.parts;
    const std::uint32_t first_head = kv_head * a.group() + part * c.heads;
    const std::uint32_t heads = least(c.heads, a.group() - part * c.heads);
    const float* q = resolve_input<float>(a.q, context);
    float* out = resolve<float>(a.out, context);
    if (sequence.pages.size() == 0) {
      if (round != 0) return;
      for (std::uint32_t row = rows.begin; row < rows.end; ++row)
        answer_nothing(a, out, row, first_head, heads);
      return;
    }
    const std::uint32_t first_split = a.cells(sequence, rows.begin).begin / a.split;
    const std::uint32_t chunk_begin = first_split * a.split + round * s.span;
    const std::uint32_t chunk_end = least(chunk_begin + s.span, sequence.cells());

    float* waiting = resolve<float>(a.workspace, context);
    float* scratch = reinterpret_cast<float*>(context.scratch);
    float* values = scratch + fold_scratch_floats<S>(a.k_size, a.v_size);
    Query queries[max_queries];
    std::size_t places[max_queries];
    std::uint32_t n = 0;
    for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
      const CellRange range = a.cells(sequence, row);
      if (range.end <= chunk_begin || range.begin >= chunk_end) continue;
      for (std::uint32_t head = first_head; head < first_head + heads; ++head, ++n) {
        places[n] = std::size_t{row} * a.heads + head;
        queries[n] = a.query(q, sequence, row, range, head);
        queries[n].state.values = values + n * padded<S>(a.v_size);
        clear<S>(queries[n].state, a.v_size);
      }
    }
    if (n == 0) return;
    const KvHead h = a.kv_head(run.kv, sequence, kv_head);
    for (std::uint32_t begin = chunk_begin; begin < chunk_end; begin += a.split) {
      const std::uint32_t end = begin + a.split;
      fold_keys<S>(h, queries, n, begin, end, scratch);
      for (std::uint32_t i = 0; i < n; ++i) {
        Query& query = queries[i];
        if (query.cells.end <= begin || query.cells.begin >= end) continue;
        float* numbers = waiting + places[i] * 2;
        Softmax whole{numbers[0], numbers[1], out + places[i] * a.v_size};
        if (query.cells.begin >= begin)
          copy(whole, query.state, 0, a.v_size);
        else
          merge<S>(whole, query.state, 0, a.v_size);
        clear<S>(query.state, a.v_size);
        numbers[0] = whole.largest;
        numbers[1] = whole.sum;
        const auto head = static_cast<std::uint32_t>(places[i] % a.heads);
        if (query.cells.end <= end)
          finish<S>(whole, a.sink(context, head), 0, a.v_size, whole.values);
      }
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const AttentionShape a = attention_shape(node);
    // Some queries share the work of reading keys.
    const double fit = target_seconds / (mac_factor * S::mac_seconds * 8 * (a.k_size + a.v_size));
    const Arguments s{a, most(static_cast<std::uint32_t>(fit) / a.split, 1u) * a.split};
    tape.step(s, count, chunk, needs);
  }
};

}  // namespace tacet::cpu
