// The only file that is compiled for AVX-512: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/avx512.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

const CpuKernel* avx512_kernels(std::size_t& count) noexcept {
  count = table<Avx512>.size();
  return table<Avx512>.data();
}

}  // namespace tacet::cpu
