#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/neon.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

const CpuKernel* neon_kernels(std::size_t& count) noexcept {
  count = table<Neon>.size();
  return table<Neon>.data();
}

}  // namespace tacet::cpu
