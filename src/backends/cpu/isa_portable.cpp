#include "backends/cpu/isa_tables.hpp"
#include "backends/cpu/simd/portable.hpp"
#include "backends/cpu/table.hpp"

namespace tacet::cpu {

KernelTable portable_kernels() noexcept {
  return table_of<Portable>();
}

}  // namespace tacet::cpu
