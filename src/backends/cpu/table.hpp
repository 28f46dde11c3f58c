#pragma once

#include <array>

#include "backends/cpu/attention/attention.hpp"
#include "backends/cpu/gemm/matmul.hpp"
#include "backends/cpu/ops/elementwise.hpp"
#include "backends/cpu/ops/norm.hpp"
#include "backends/cpu/ops/rope.hpp"
#include "backends/cpu/ops/rows.hpp"

namespace tacet::cpu {

/// Text that is known when compiling, as a template argument.
template <std::size_t N>
struct Text {
  char characters[N];
  consteval Text(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = text[i];
  }
};

/// "matmul.q8_0" and the name of the instruction set.
template <typename S, Text Base>
struct KernelName {
  static constexpr std::size_t base_size = sizeof Base.characters - 1;
  static constexpr std::size_t size = base_size + 1 + S::name.size();
  static constexpr std::array<char, size> text = [] {
    std::array<char, size> out{};
    for (std::size_t i = 0; i < base_size; ++i) out[i] = Base.characters[i];
    out[base_size] = '.';
    for (std::size_t i = 0; i < S::name.size(); ++i) out[base_size + 1 + i] = S::name[i];
    return out;
  }();
};

/// A row of the table: `Kind` has supports and emit.
template <typename S, Text Base, typename Kind>
consteval CpuKernel row(const Op& op) {
  using Name = KernelName<S, Base>;
  return {{&op, {Name::text.data(), Name::size}, Kind::supports, nullptr}, Kind::emit};
}
/// The same for one type of weights.
template <typename S, Text Base, typename Kind, typename E>
consteval CpuKernel row(const Op& op) {
  using Name = KernelName<S, Base>;
  return {{&op, {Name::text.data(), Name::size}, Kind::template supports_type<E>, nullptr},
          Kind::emit};
}
template <typename S>
consteval CpuKernel attention_row() {
  using Name = KernelName<S, "attention">;
  return {{&ops::attention,
           {Name::text.data(), Name::size},
           Attention<S>::supports,
           Attention<S>::workspace},
          Attention<S>::emit};
}

/// The kernels of one instruction set, better rows first.
template <typename S>
inline constexpr std::array table{
    row<S, "embed", Gather<S, true>>(ops::embed),
    row<S, "select_rows", Gather<S, false>>(ops::select_rows),
    row<S, "add", Elementwise<S, Add>>(ops::add),
    row<S, "mul", Elementwise<S, Mul>>(ops::mul),
    row<S, "silu", Elementwise<S, Silu>>(ops::silu),
    row<S, "rms_norm", RmsNorm<S>>(ops::rms_norm),
    row<S, "add_rms_norm", AddRmsNorm<S>>(ops::add_rms_norm),
    row<S, "rope_table", RopeTable<S>>(ops::rope_table),
    row<S, "rope", Rope<S, false>>(ops::rope),
    row<S, "norm_rope", Rope<S, true>>(ops::norm_rope),
    row<S, "kv_write", KvWrite<S>>(ops::kv_write),
    attention_row<S>(),
    row<S, "matmul.f32", Matmul<S, 1>, F32Elements>(ops::matmul),
    row<S, "matmul.f16", Matmul<S, 1>, F16Elements>(ops::matmul),
    row<S, "matmul.bf16", Matmul<S, 1>, Bf16Elements>(ops::matmul),
    row<S, "matmul.q8_0", Matmul<S, 1>, Q8_0Elements>(ops::matmul),
    row<S, "matmul3.f32", Matmul<S, 3>, F32Elements>(ops::matmul3),
    row<S, "matmul3.f16", Matmul<S, 3>, F16Elements>(ops::matmul3),
    row<S, "matmul3.bf16", Matmul<S, 3>, Bf16Elements>(ops::matmul3),
    row<S, "matmul3.q8_0", Matmul<S, 3>, Q8_0Elements>(ops::matmul3),
    row<S, "matmul3.mixed", Matmul<S, 3>>(ops::matmul3),
    row<S, "up_gate.f32", UpGate<S>, F32Elements>(ops::up_gate),
    row<S, "up_gate.f16", UpGate<S>, F16Elements>(ops::up_gate),
    row<S, "up_gate.bf16", UpGate<S>, Bf16Elements>(ops::up_gate),
    row<S, "up_gate.q8_0", UpGate<S>, Q8_0Elements>(ops::up_gate),
    row<S, "up_gate.mixed", UpGate<S>>(ops::up_gate),
};

}  // namespace tacet::cpu
