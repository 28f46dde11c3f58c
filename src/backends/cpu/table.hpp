#pragma once

#include <array>

#include "backends/cpu/attention/attention.hpp"
#include "backends/cpu/gemm/matmul.hpp"
#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/ops/elementwise.hpp"
#include "backends/cpu/ops/norm.hpp"
#include "backends/cpu/ops/rope.hpp"
#include "backends/cpu/ops/rows.hpp"
#include "backends/cpu/ops/top_k.hpp"

namespace tacet::cpu {

/// Text that is known when compiling, as a template argument.
template <std::size_t N>
struct Text {
  char characters[N];
  consteval Text(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = text[i];
  }
};

/// A kernel's name in parts, "matmul." "q8_0" ".avx2", put together when compiling.
template <std::size_t N>
struct Name {
  char characters[N] = {};
  std::size_t size = 0;
  consteval Name(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
      for (const char c : part) characters[size++] = c;
  }
};
template <typename S, Text Base, Text Type = "">
struct KernelName {
  static constexpr Name<48> text =
      std::string_view(Type.characters).empty()
          ? Name<48>{Base.characters, ".", S::name}
          : Name<48>{Base.characters, ".", Type.characters, ".", S::name};
  static constexpr std::string_view value{text.characters, text.size};
};

/// A row of the table: `Kind` has supports and emit.
template <typename S, Text Base, typename Kind>
consteval CpuKernel row(const Op& op) {
  return {{.op = &op, .name = KernelName<S, Base>::value, .supports = Kind::supports}, Kind::emit};
}
/// The same of a kernel that has a workspace.
template <typename S, Text Base, typename Kind>
consteval CpuKernel working_row(const Op& op) {
  return {{.op = &op,
           .name = KernelName<S, Base>::value,
           .supports = Kind::supports,
           .workspace = Kind::workspace},
          Kind::emit};
}
/// A product with weights of one type.
template <typename S, Text Base, typename Kind, typename Format>
consteval CpuKernel product_row(const Op& op) {
  return {{.op = &op,
           .name = KernelName<S, Base, Text(Format::name)>::value,
           .supports = all_weights_are<Kind, Format>,
           .workspace = Kind::workspace,
           .layout = Layout::groups},
          Kind::emit};
}
/// The same with weights of several types.
template <typename S, Text Base, typename Kind>
consteval CpuKernel mixed_row(const Op& op) {
  return {{.op = &op,
           .name = KernelName<S, Base, "mixed">::value,
           .supports = Kind::supports,
           .workspace = Kind::workspace,
           .layout = Layout::groups},
          Kind::emit};
}

/// The products of one kind, a row for each type of weights.
template <typename S, Text Base, typename Kind, typename... Formats>
consteval std::array<CpuKernel, sizeof...(Formats)> product_rows(const Op& op,
                                                                 FormatList<Formats...>) {
  return {product_row<S, Base, Kind, Formats>(op)...};
}

template <std::size_t... Sizes>
consteval auto join(const std::array<CpuKernel, Sizes>&... parts) {
  std::array<CpuKernel, (Sizes + ...)> all{};
  std::size_t n = 0;
  const auto append = [&](const auto& part) {
    for (const CpuKernel& row : part) all[n++] = row;
  };
  (append(parts), ...);
  return all;
}

/// The kernels of one instruction set, better rows first.
template <typename S>
inline constexpr auto table = join(
    std::array{
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
        working_row<S, "top_k", TopK<S>>(ops::top_k),
        working_row<typename S::ForAttention, "attention", Attention<typename S::ForAttention>>(
            ops::attention),
    },
    product_rows<S, "matmul", Matmul<S, 1>>(ops::matmul, AllFormats{}),
    product_rows<S, "matmul3", Matmul<S, 3>>(ops::matmul3, AllFormats{}),
    std::array{mixed_row<S, "matmul3", Matmul<S, 3>>(ops::matmul3)},
    product_rows<S, "up_gate", UpGate<S>>(ops::up_gate, AllFormats{}),
    std::array{mixed_row<S, "up_gate", UpGate<S>>(ops::up_gate)});

/// The same as isa_tables.hpp gives it.
template <typename S>
constexpr KernelTable table_of() noexcept {
  constexpr double slower =
      S::mac_seconds > S::byte_mac_seconds ? S::mac_seconds : S::byte_mac_seconds;
  return {table<S>.data(), table<S>.data() + table<S>.size(), slower, S::element_seconds,
          S::byte_seconds};
}

}  // namespace tacet::cpu
