#pragma once

#include <span>

#include "graph/builder.hpp"
#include "graph/op.hpp"

/// The ops. R: rows of the run, W: width, all activations f32. "Weight" inputs may have any weight
/// type.
namespace tacet::ops {

/// embed(table {V, W}, tokens i32 {R}) -> {R, W}: rows of a table of weights. Token ids are clamped
/// to the table.
extern const Op embed;

/// matmul(weight {N, K}, x {R, K}, [bias f32 {N}]) -> {R, N}: y = x weight^T + bias.
extern const Op matmul;

/// add(a {R, W}, b {R, W} or f32 weight {W}) -> {R, W}.
extern const Op add;

/// mul(a {R, W}, b {R, W}) -> {R, W}.
extern const Op mul;

/// silu(x {R, W}) -> {R, W}: x / (1 + exp(-x)).
extern const Op silu;

struct NormAttributes {
  float epsilon;
  std::int32_t
      groups;  ///< 1: over the whole row; h: over each of h equal parts of a row (a norm per head)
};
/// rms_norm(x {R, W}, weight f32 {W / groups}) -> {R, W}: x / sqrt(mean(x^2) + epsilon) * weight.
extern const Op rms_norm;

struct RopeTableAttributes {
  float base;         ///< theta of RoFormer (arXiv:2104.09864): 10000 there
  std::int32_t size;  ///< rotated elements of a head, even
  float scale;        ///< positions are multiplied by it; 1: plain
  /// YaRN (arXiv:2309.00071): pairs up to `low` are not scaled, those from `high` on are, and those
  /// between them by a share that falls evenly.
  float low = 0;
  float high = 0;
  float magnitude = 1;  ///< cosines and sines are multiplied by it
};
/// rope_table(positions i32 {R}, [factors f32 {size / 2}]) -> {R, size}: for pair i of position p
/// the angle p * s * base^(-2i / size) / factors[i], where s is `scale`, or nearer to 1 below
/// `high`; first size / 2 cosines, then size / 2 sines.
extern const Op rope_table;

struct RopeAttributes {
  std::int32_t heads;
  bool interleaved;  ///< pairs (2i, 2i+1), as Llama; otherwise (i, i + size / 2), as NeoX and Qwen
};
/// rope(x {R, heads * D}, table {R, size}) -> {R, heads * D}: rotates the first `size` elements of
/// each head.
extern const Op rope;

/// kv_write(k {R, heads * Dk}, [v {R, heads * Dv}], keys state {heads, Dk}, [values state {heads,
/// Dv}]) -> the states: stores each row in its cell, in the states' types. With both or neither of
/// v and values.
extern const Op kv_write;

struct AttentionAttributes {
  std::int32_t heads;     ///< of the queries; a multiple of the keys' heads (GQA, arXiv:2305.13245)
  float scale;            ///< of the scores, 1 / sqrt(head size) as a rule
  std::int32_t max_keys;  ///< the most cells of a sequence in any run of the plan
  float softcap = 0;  ///< scaled scores s become c tanh(s / c) (Gemma 2, arXiv:2408.00118); 0: no
  /// ALiBi (arXiv:2108.12409): -slope * |position of the query - of the key| is added to the score;
  /// the slopes of 2^n heads are 2^(-max_bias * h / 2^n), h from 1 on; 0: no. The paper has 8.
  float max_bias = 0;
  /// A key is seen only if the query's position - its own is less (arXiv:2004.05150); 0: always.
  std::int32_t window = 0;
  /// The values are the first so many elements of each key (MLA, arXiv:2405.04434), and the third
  /// input is the keys again; 0: values are a state of their own.
  std::int32_t values_in_keys = 0;
  bool causal = true;  ///< a row sees the cells up to its own; else all cells of its sequence

  std::int64_t v_size(std::int64_t size_of_third_input) const noexcept {
    return values_in_keys != 0 ? values_in_keys : size_of_third_input;
  }
};
/// attention(q {R, heads * Dk}, keys state {kv heads, Dk}, values state {kv heads, Dv}, [sinks f32
/// {heads}]) -> {R, heads * Dv}: softmax(scale * q keys^T) values over the cells of the row's own
/// sequence. A sink is the score of a key without a value (arXiv:2309.17453): it only takes its
/// part of the softmax. A row that sees no key, or whose scores are all -infinity, gives zeros.
extern const Op attention;

/// The slope of head `head` for AttentionAttributes::max_bias. Where `heads` is no power of two,
/// the heads behind the largest one below it take the slopes between those of twice as many.
double alibi_slope(double max_bias, std::uint32_t heads, std::uint32_t head) noexcept;

/// select_rows(x {R, W}, rows i32 {S}) -> {S, W}. Row numbers are clamped to the run's rows.
extern const Op select_rows;

/// The most that top_k finds, and in rows of how many: a GPU selects from the best of their parts
/// without a look at the stop.
inline constexpr std::int32_t most_k = 128;
inline constexpr std::int64_t most_top_k_width = 1 << 20;
struct TopKAttributes {
  std::int32_t k;  ///< 1 to most_k, at most W
};
/// top_k(x {R, W}) -> {R, 2k}: the k largest elements of each row, the largest first, then their
/// places in the row. Of equal ones the first comes first; NaN counts as -infinity, and -0 as 0.
extern const Op top_k;

// Fused ops. Each decomposes into the ops above; the planner makes them where the device has a row
// for them.

/// add_rms_norm(a {R, W}, b {R, W}, weight f32 {W}) -> sum {R, W}, normed {R, W}. NormAttributes
/// with groups 1.
extern const Op add_rms_norm;

/// norm_rope(x {R, heads * D}, weight f32 {D}, table {R, size}) -> {R, heads * D}: a norm per head,
/// then rope.
struct NormRopeAttributes {
  float epsilon;
  RopeAttributes rope;
};
extern const Op norm_rope;

/// matmul3(w0 {N0, K}, w1 {N1, K}, w2 {N2, K}, x {R, K}, [b0, b1, b2 f32]) -> three products of one
/// input (queries, keys, values). Either no bias or all three.
extern const Op matmul3;

/// up_gate(gate {N, K}, up {N, K}, x {R, K}) -> {R, N}: silu(x gate^T) * (x up^T).
extern const Op up_gate;

/// All ops, and the fused ones among them.
std::span<const Op* const> all() noexcept;
std::span<const Op* const> fused() noexcept;

}  // namespace tacet::ops
