#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/neon.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

KernelTable neon_kernels() noexcept {
  return table_of<Neon>();
}

}  // namespace tacet::cpu
