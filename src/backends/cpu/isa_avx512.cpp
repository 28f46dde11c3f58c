// The only file that is compiled for AVX-512: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/avx512.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

KernelTable avx512_kernels() noexcept {
  return table_of<Avx512>();
}

}  // namespace tacet::cpu
