#pragma once

#include "backends/cpu/gemm/packed.hpp"
#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// Some groups of a matrix that are brought into the packed form by one step of a tape.
struct Packing {
  ValueType matrix;
  const std::byte* rows;  ///< of the whole matrix, as in a file
  std::byte* packed;      ///< the first group of the whole matrix
  std::uint32_t first, groups;
};

/// So many groups take a slow core about 10 ms: other runs on the device wait no longer.
std::uint32_t groups_at_once(const ValueType& matrix) noexcept;

void emit_packing(const Packing& packing, TapeBuilder& tape);

}  // namespace tacet::cpu
