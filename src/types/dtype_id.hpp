#pragma once

#include <cstdint>

namespace tacet {

/// Element types of tensors. The numbers are GGUF's (ggml_type).
enum class DType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_K = 10,
  q3_K = 11,
  q4_K = 12,
  q5_K = 13,
  q6_K = 14,
  iq4_nl = 20,
  iq4_xs = 23,
  i32 = 26,
  bf16 = 30,
  mxfp4 = 39,
};

}  // namespace tacet
