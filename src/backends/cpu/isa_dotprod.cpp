// The only file that is compiled for FEAT_DotProd: see simd/math.hpp for what that asks of what it
// includes. fmt would emit parts of its own here.
#undef FMT_HEADER_ONLY

#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/neon.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

KernelTable dotprod_kernels() noexcept {
  return table_of<Dotprod>();
}

}  // namespace tacet::cpu
