#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "formats/gguf/reader.hpp"
#include "formats/mapped_file.hpp"
#include "shared.hpp"
#include "types/convert.hpp"
#include "types/dtype.hpp"
#include "types/gguf_type.hpp"

namespace tacet {
namespace {

bool is_nan_half(std::uint32_t half) {
  return (half & 0x7FFFU) > 0x7C00U;
}

/// The value of a half by its definition, in double precision.
double half_by_definition(std::uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((half >> 10) & 0x1FU);
  const auto mantissa = static_cast<double>(half & 0x3FFU);
  if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0 + mantissa, exponent - 25);
}

/// Floats that are hard to round: around every half and every middle between two halves, and random
/// bits.
std::vector<float> hard_floats() {
  std::vector<float> values = {0.0F, -0.0F, 65504.0F, 65519.996F, 65520.0F, 1e30F, 1e-30F, 1e-45F};
  for (std::uint32_t half = 0; half < 0x7C00; ++half) {
    const double here = half_by_definition(half);
    const double next = half == 0x7BFF ? 65536.0 : half_by_definition(half + 1);
    for (const double point : {here, (here + next) / 2}) {
      const auto value = static_cast<float>(point);
      for (const float x : {value, std::nextafterf(value, 1e30F), std::nextafterf(value, -1.0F)}) {
        values.push_back(x);
        values.push_back(-x);
      }
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1'000'000; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  return values;
}

TEST(Half, EveryPatternHasTheValueOfItsDefinition) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const float value = f16_to_f32(static_cast<std::uint16_t>(half));
    if (is_nan_half(half)) {
      ASSERT_TRUE(std::isnan(value)) << half;
      continue;
    }
    ASSERT_EQ(double{value}, half_by_definition(half)) << half;
    ASSERT_EQ(std::signbit(value), (half & 0x8000U) != 0) << half;
  }
}

TEST(Half, EveryPatternSurvivesARoundTrip) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const std::uint16_t back = f32_to_f16(f16_to_f32(static_cast<std::uint16_t>(half)));
    // A signalling NaN becomes the quiet one with the same payload, as in hardware.
    const std::uint32_t expected = is_nan_half(half) ? half | 0x200U : half;
    ASSERT_EQ(back, expected);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(65519.996F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(-1e30F), 0xFC00);
  EXPECT_EQ(f32_to_f16(0x1p-24F), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);  // a tie goes to even: zero
  EXPECT_EQ(f32_to_f16(0x1.000002p-25F), 0x0001);
  EXPECT_EQ(f32_to_f16(-0x1.8p-24F), 0x8002);  // a tie goes to even: two
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(f32_to_f16(1.0F + 0x3p-11F), 0x3C02);
  EXPECT_EQ(f32_to_f16(0x1.ffbp-15F), 0x03FF);
  EXPECT_EQ(f32_to_f16(0x1.ffcp-15F), 0x0400);  // the largest subnormal's tie: the smallest normal
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) void hardware_halves(const std::vector<float>& values,
                                                     std::vector<std::uint16_t>& out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<std::uint16_t>(
        _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(values[i]), _MM_FROUND_TO_NEAREST_INT), 0));
  }
}

__attribute__((target("f16c"))) float hardware_float(std::uint16_t half) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

TEST(Half, EqualsTheHardwareBitForBit) {
  // Not every compiler can ask for F16C; what has AVX2 has it.
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2 and F16C";
  const std::vector<float> values = hard_floats();
  std::vector<std::uint16_t> expected(values.size());
  hardware_halves(values, expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(f32_to_f16(values[i]), expected[i]) << std::bit_cast<std::uint32_t>(values[i]);
  }
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const auto bits = static_cast<std::uint16_t>(half);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f16_to_f32(bits)),
              std::bit_cast<std::uint32_t>(hardware_float(bits)));
  }
}
#endif

TEST(BFloat, RoundsToNearestEvenAndSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    ASSERT_EQ(f32_to_bf16(value), std::isnan(value) ? bits | 0x40U : bits);
  }
  const auto rounded = [](std::uint32_t bits) { return f32_to_bf16(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3F808000), 0x3F80);  // ties to even
  EXPECT_EQ(rounded(0x3F818000), 0x3F82);
  EXPECT_EQ(rounded(0x3F808001), 0x3F81);
  EXPECT_EQ(rounded(0x7F7FFFFF), 0x7F80);  // overflow to infinity
  EXPECT_EQ(rounded(0x7F800001), 0x7FC0);  // a NaN whose payload is in the lost bits
  EXPECT_EQ(rounded(0x00008000), 0x0000);
  EXPECT_EQ(rounded(0x00018000), 0x0002);
}

TEST(Convert, EveryTypeReadsBackWhatItWrote) {
  std::vector<float> in(64);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) - 31.0F;
  in[32] = 127.0F;  // so that the scale of each q8_0 block is exact: 31 / 127 is not, 127 / 127 is
  in[5] = -127.0F;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::q8_0}) {
    std::vector<std::byte> bytes(row_bytes(type, in.size()) + 1);
    std::vector<float> out(in.size());
    quantize(type, in, bytes.data() + 1);  // not aligned
    dequantize(type, bytes.data() + 1, out);
    EXPECT_EQ(out, in) << name(type);
    quantize(type, {}, nullptr);
    dequantize(type, nullptr, {});
  }
}

TEST(Convert, Q8RoundsHalvesAwayFromZero) {
  std::vector<float> in(32, 0.0F);
  in[0] = 127.0F;
  in[1] = 2.5F;
  in[2] = -2.5F;
  in[3] = 0.49F;
  BlockQ8_0 block;
  quantize(DType::q8_0, in, &block);
  EXPECT_EQ(block.scale, 0x3C00);
  EXPECT_EQ(block.values[0], 127);
  EXPECT_EQ(block.values[1], 3);
  EXPECT_EQ(block.values[2], -3);
  EXPECT_EQ(block.values[3], 0);
}

TEST(Convert, QuantizingValuesThatAreNoNumbersIsDefined) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float strange : {infinity, -infinity, std::nanf(""), 1e-45F, 3e38F}) {
    std::vector<float> in(32, strange);
    std::vector<std::int32_t> integers(32);
    BlockQ8_0 block;
    quantize(DType::q8_0, in, &block);
    quantize(DType::i32, in, integers.data());
    const std::int32_t limit = strange < 0 ? std::numeric_limits<std::int32_t>::min()
                                           : std::numeric_limits<std::int32_t>::max();
    const std::int32_t expected = std::isnan(strange) || strange < 1e-30F ? 0 : limit;
    EXPECT_EQ(integers, std::vector(32, std::isinf(strange) ? limit : expected)) << strange;
  }
  // One element that is no number, in any place, must not turn into a number.
  for (std::size_t at = 0; at < 64; ++at) {
    for (const float strange : {infinity, -infinity, std::nanf(""), -std::nanf("")}) {
      std::vector<float> in(64, 1.5F);
      in[at] = strange;
      BlockQ8_0 blocks[2];
      quantize(DType::q8_0, in, blocks);
      std::vector<float> out(64);
      dequantize(DType::q8_0, blocks, out);
      for (std::size_t i = 0; i < 64; ++i) {
        if (i / 32 != at / 32) {
          EXPECT_NEAR(out[i], 1.5F, 0.01F);
        } else if (i == at || std::isnan(strange)) {
          EXPECT_FALSE(std::isfinite(out[i])) << at << " " << strange;
        }
      }
    }
  }
  const float large = 3e9F;
  std::int32_t integer = 0;
  quantize(DType::i32, {&large, 1}, &integer);
  EXPECT_EQ(integer, std::numeric_limits<std::int32_t>::max());
}

TEST(DTypes, NamesAndNumbers) {
  EXPECT_EQ(dtypes().size(), 17U);
  for (const DTypeInfo& one : dtypes()) {
    const DType type = one.type;
    EXPECT_EQ(&info(type), &one);
    EXPECT_EQ(dtype_from_name(name(type)).value(), type);
    EXPECT_EQ(dtype_from_gguf(static_cast<std::uint32_t>(type)).value(), type);
    const GgufType* same = gguf_type(static_cast<std::uint32_t>(type));
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(same->name, name(type));
    EXPECT_EQ(same->block_size, info(type).block_size);
    EXPECT_EQ(same->block_bytes, info(type).block_bytes);
  }
  EXPECT_EQ(dtype_from_name("Q8_0").value(), DType::q8_0);
  EXPECT_EQ(dtype_from_name("q4_k").value(), DType::q4_K);
  EXPECT_EQ(dtype_from_name("IQ4_XS").value(), DType::iq4_xs);
  const auto unknown_name = dtype_from_name("q9");
  ASSERT_FALSE(unknown_name);
  EXPECT_EQ(unknown_name.error().code(), Code::invalid_argument);
  EXPECT_NE(unknown_name.error().message().find("f32, f16, bf16, i32, q8_0, q4_0"),
            std::string_view::npos);
  const auto known_elsewhere = dtype_from_gguf(16);
  ASSERT_FALSE(known_elsewhere);
  EXPECT_EQ(known_elsewhere.error().code(), Code::unsupported);
  EXPECT_NE(known_elsewhere.error().message().find("iq2_xxs"), std::string_view::npos);
  const auto unknown_number = dtype_from_gguf(77);
  ASSERT_FALSE(unknown_number);
  EXPECT_NE(unknown_number.error().message().find("77"), std::string_view::npos);
}

/// llama.cpp's own quantizer made the quantized file from the f16 one; ours has to give the very
/// bytes.
void expect_same_bytes(const std::string& quantized_name, DType type) {
  const auto source_path = test::shared_file("models/tiny-chat-f16.gguf");
  const auto quantized_path = test::shared_file("models/quantized/" + quantized_name);
  if (!source_path || !quantized_path)
    GTEST_SKIP() << "the shared models are not here (set TACET_SHARED)";
  const auto source_file = FileBytes::load(*source_path);
  const auto quantized_file = FileBytes::load(*quantized_path);
  ASSERT_TRUE(source_file && quantized_file);
  const auto source = read_gguf(source_file->bytes());
  const auto quantized = read_gguf(quantized_file->bytes());
  ASSERT_TRUE(source && quantized);
  ASSERT_EQ(source->tensors().size(), quantized->tensors().size());
  std::size_t compared = 0;
  for (const TensorInfo& tensor : quantized->tensors()) {
    if (tensor.dtype().value() != type) continue;
    const TensorInfo* original = source->find(tensor.name);
    ASSERT_NE(original, nullptr);
    std::vector<float> values(original->elements);
    dequantize(original->dtype().value(), original->data.data(), values);
    std::vector<std::byte> bytes(row_bytes(type, values.size()));
    ASSERT_EQ(bytes.size(), tensor.data.size());
    quantize(type, values, bytes.data());
    EXPECT_EQ(std::memcmp(bytes.data(), tensor.data.data(), bytes.size()), 0) << tensor.name;

    // And what is read back is near the original: within half a step, the scale's rounding
    // included.
    std::vector<float> read(values.size());
    dequantize(type, tensor.data.data(), read);
    for (std::size_t i = 0; i < read.size(); i += 32) {
      float largest = 0.0F;
      for (std::size_t j = i; j < i + 32; ++j) largest = std::max(largest, std::fabs(values[j]));
      for (std::size_t j = i; j < i + 32; ++j) ASSERT_NEAR(read[j], values[j], largest * 0.0046F);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 29U);
}

TEST(Convert, Q8GivesTheBytesOfLlamaCpp) {
  expect_same_bytes("tiny-chat-Q8_0.gguf", DType::q8_0);
}
TEST(Convert, BFloatGivesTheBytesOfLlamaCpp) {
  expect_same_bytes("tiny-chat-BF16.gguf", DType::bf16);
}

}  // namespace
}  // namespace tacet
