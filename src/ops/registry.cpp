#include <array>

#include "ops/ops.hpp"

namespace tacet::ops {

std::span<const Op* const> all() noexcept {
  static constexpr std::array<const Op*, 16> ops{&embed,        &matmul,    &add,         &mul,
                                                 &silu,         &rms_norm,  &rope_table,  &rope,
                                                 &kv_write,     &attention, &select_rows, &top_k,
                                                 &add_rms_norm, &norm_rope, &matmul3,     &up_gate};
  return ops;
}

std::span<const Op* const> fused() noexcept {
  static constexpr std::size_t count = 4;
  return all().last(count);
}

}  // namespace tacet::ops
