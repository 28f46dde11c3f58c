// The only file that is compiled for AVX2: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/avx2.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

const CpuKernel* avx2_kernels(std::size_t& count) noexcept {
  count = table<Avx2>.size();
  return table<Avx2>.data();
}

}  // namespace tacet::cpu
