#pragma once

#include "backends/cuda/tape.hpp"

namespace tacet::cuda {

// The rows of the table, a file each.
std::span<const CudaKernel> elementwise_kernels() noexcept;  ///< add, mul, silu
std::span<const CudaKernel> norm_kernels() noexcept;         ///< rms_norm, add_rms_norm
std::span<const CudaKernel> rope_kernels() noexcept;         ///< rope_table, rope, norm_rope
std::span<const CudaKernel> gather_kernels() noexcept;       ///< embed, select_rows
std::span<const CudaKernel> kv_write_kernels() noexcept;
std::span<const CudaKernel> top_k_kernels() noexcept;
std::span<const CudaKernel> attention_kernels() noexcept;
std::span<const CudaKernel> matmul_kernels() noexcept;  ///< matmul, matmul3, up_gate

inline std::uint32_t width_of(const ValueType& value) noexcept {
  return static_cast<std::uint32_t>(value.shape.width());
}
inline std::uint32_t rows_of(const ValueType& value) noexcept {
  return static_cast<std::uint32_t>(value.shape.rows());
}
/// Whether all inputs are f32.
inline bool all_floats(const NodeView& view) noexcept {
  for (const ValueType& input : view.inputs)
    if (input.dtype != DType::f32) return false;
  return true;
}

}  // namespace tacet::cuda
