// The only file that is compiled for AVX2: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/avx2.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

KernelTable avx2_kernels() noexcept {
  return table_of<Avx2>();
}

}  // namespace tacet::cpu
