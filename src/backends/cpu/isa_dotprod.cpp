// The only file that is compiled for FEAT_DotProd: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/neon.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

const CpuKernel* dotprod_kernels(std::size_t& count) noexcept {
  count = table<Dotprod>.size();
  return table<Dotprod>.data();
}

}  // namespace tacet::cpu
