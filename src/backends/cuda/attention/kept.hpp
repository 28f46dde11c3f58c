#pragma once

#include "types/dtype_id.hpp"

namespace tacet::cuda {

/// Whether keys and values may be kept in `type`.
inline bool is_kept(DType type) noexcept {
  switch (type) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q5_0:
    case DType::q5_1:
      return true;
    default:
      return false;
  }
}

}  // namespace tacet::cuda
