#pragma once

#include "backends/cpu/attention/fold.hpp"
#include "backends/cpu/ops/cut.hpp"
#include "ops/ops.hpp"

namespace tacet::cpu {

/// What a multiply-add costs here beside one of a matrix product: keys are converted for few
/// queries, and there are exponentials.
inline constexpr double mac_factor = 1.6;

/// What both forms of attention know of their node. A query's keys are split at absolute multiples
/// of `split`; each split is a softmax of its own, and they are merged in order. So its answer has
/// the same bits in every plan, with any other rows and sequences, and with any cut of the work.
struct AttentionShape {
  Ref q, sinks, out, workspace;
  std::uint32_t layer, rows, heads, kv_heads, k_size, v_size;
  std::uint32_t k_bytes, v_bytes;  ///< of a row
  DType k_type, v_type;
  std::uint32_t max_keys, window;
  bool causal, values_in_keys;
  float scale, softcap, max_bias;
  std::uint32_t split;

  [[gnu::always_inline]] std::uint32_t group() const { return heads / kv_heads; }
  /// Queries that may be answered together, so that `keys` keys of each make one chunk.
  template <typename S>
  [[gnu::always_inline]] std::uint32_t queries_for(std::uint32_t keys) const {
    const double seconds = mac_factor * S::mac_seconds * keys * (k_size + v_size);
    const double n = target_seconds / seconds;
    return n < 1 ? 1 : n > max_queries ? max_queries : static_cast<std::uint32_t>(n);
  }
  /// The first cell that a row sees whose own cell is `own`.
  [[gnu::always_inline]] std::uint32_t first_cell(const KvSequence& sequence,
                                                  std::uint32_t own) const {
    if (window == 0) return 0;
    if (sequence.positions.size() == 0) return own < window ? 0 : own - window + 1;
    const std::int32_t* positions = sequence.positions.data();
    const std::int64_t before = std::int64_t{positions[own]} - window;
    std::uint32_t low = 0, high = own;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (positions[middle] > before)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  [[gnu::always_inline]] CellRange cells(const KvSequence& sequence, std::uint32_t row) const {
    if (sequence.pages.size() == 0) return {0, 0};
    const std::uint32_t own = sequence.cell_of(row);
    return {first_cell(sequence, own), causal ? own + 1 : sequence.cells()};
  }
  /// The number of splits that hold some of `range`.
  [[gnu::always_inline]] std::uint32_t splits(CellRange range) const {
    return ceil_div(range.end, split) - range.begin / split;
  }
  [[gnu::always_inline]] KvHead kv_head(const KvView& kv, const KvSequence& sequence,
                                        std::uint32_t head) const {
    return {&kv,     &sequence, layer,  head,           k_size,        v_size, k_bytes,
            v_bytes, k_type,    v_type, values_in_keys, max_bias != 0, scale,  softcap};
  }
  /// Query `head` of `row`; its values are still to be given a place and cleared.
  [[gnu::always_inline]] Query query(const float* queries, const KvSequence& sequence,
                                     std::uint32_t row, CellRange range, std::uint32_t head) const {
    const double slope = max_bias == 0 ? 0 : ops::alibi_slope(max_bias, heads, head);
    return {queries + (std::size_t{row} * heads + head) * k_size,
            range,
            sequence.cell_of(row),
            static_cast<float>(slope),
            {}};
  }
  [[gnu::always_inline]] float sink(const ChunkContext& context, std::uint32_t head) const {
    const float* given = resolve_input<float>(sinks, context);
    return given == nullptr ? -__builtin_inff() : given[head];
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
  a.v_size = static_cast<std::uint32_t>(attributes.v_size(values.shape.width()));
  a.k_type = keys.dtype;
  a.v_type = values.dtype;
  a.k_bytes = static_cast<std::uint32_t>(row_bytes(keys.dtype, a.k_size));
  a.v_bytes = static_cast<std::uint32_t>(row_bytes(values.dtype, width(values)));
  a.max_keys = static_cast<std::uint32_t>(attributes.max_keys);
  a.window = static_cast<std::uint32_t>(attributes.window);
  a.causal = attributes.causal;
  a.values_in_keys = attributes.values_in_keys != 0;
  a.scale = attributes.scale;
  a.softcap = attributes.softcap;
  a.max_bias = attributes.max_bias;
  // 64 KiB from memory take a slow core half as long as a chunk should; and while a split is short,
  // many queries can share the work of reading it.
  a.split = a.k_bytes + a.v_bytes <= 512 ? 128 : 64;
  return a;
}
[[gnu::always_inline]] inline AttentionShape attention_shape(const PlacedNode& node) {
  AttentionShape a = attention_shape(node.view);
  a.q = node.inputs.data()[0];
  if (node.inputs.size() > 3) a.sinks = node.inputs.data()[3];
  a.out = node.outputs.data()[0];
  a.workspace = node.workspace;
  a.layer = node.inputs.data()[1].layer;
  return a;
}

/// The answer where no key is seen.
[[gnu::always_inline]] inline void answer_nothing(const AttentionShape& a, float* out,
                                                  std::uint32_t row, std::uint32_t head,
                                                  std::uint32_t heads) {
  float* first = out + (std::size_t{row} * a.heads + head) * a.v_size;
  __builtin_memset(first, 0, std::size_t{heads} * a.v_size * sizeof(float));
}

}  // namespace tacet::cpu
