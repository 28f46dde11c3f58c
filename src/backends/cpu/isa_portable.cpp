#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/portable.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

const CpuKernel* portable_kernels(std::size_t& count) noexcept {
  count = table<Portable>.size();
  return table<Portable>.data();
}

}  // namespace tacet::cpu
