#pragma once

#include "backends/cpu/attention/round_attention.hpp"
#include "backends/cpu/attention/split_attention.hpp"

namespace tacet::cpu {

/// attention: splits of the keys at once where there are few rows, else rounds over them, for which
/// rows are work enough.
template <typename S>
struct Attention {
  static constexpr std::int64_t few_rows = 8;
  static_assert((fold_scratch_floats<S>(max_head_size, max_head_size) +
                 std::size_t{max_queries} * max_head_size) *
                    sizeof(float) <=
                scratch_bytes);

  [[gnu::always_inline]] static bool few(const NodeView& view) {
    return input(view, 0).shape[0] <= few_rows;
  }

  static bool supports(const NodeView& view) {
    const std::size_t n = view.inputs.size();
    if (n < 3 || n > 4 || input(view, 0).dtype != DType::f32) return false;
    if (n == 4 && input(view, 3).dtype != DType::f32) return false;
    for (std::size_t i = 1; i < 3; ++i) {
      const ValueType& state = input(view, i);
      if (!is_kept(state.dtype) || state.shape.rank() != 2) return false;
      if (width(state) % info(state.dtype).block_size != 0) return false;
      if (width(state) == 0 || width(state) > max_head_size) return false;
    }
    const auto attributes = view.attributes->as<ops::AttentionAttributes>();
    const std::int64_t heads = attributes.heads;
    const std::int64_t kv_heads = input(view, 1).shape[0];
    if (attributes.max_keys <= 0 || attributes.window < 0) return false;
    if (kv_heads <= 0 || heads <= 0 || heads % kv_heads != 0 ||
        input(view, 2).shape[0] != kv_heads ||
        input(view, 0).shape.width() != heads * input(view, 1).shape.width())
      return false;
    // Chunks are counted in 32 bits.
    const AttentionShape a = attention_shape(view);
    return std::uint64_t{a.rows} * a.heads * 2 * ceil_div(a.max_keys, a.split) < (1ull << 32);
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
