#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "formats/block_layouts.hpp"
#include "formats/shared_models.hpp"
#include "types/convert.hpp"

namespace tacet {
namespace {

std::string label(const testing::TestParamInfo<DType>& type) {
  return std::string(name(type.param));
}

std::vector<DType> block_types() {
  std::vector<DType> types;
  for (const DTypeInfo& type : dtypes()) {
    if (type.block_size > 1) types.push_back(type.type);
  }
  return types;
}

class Blocks : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Blocks, testing::ValuesIn(block_types()), label);

TEST_P(Blocks, AreReadAsTheLayoutSays) {
  const DTypeInfo& type = info(GetParam());
  std::mt19937 random(11);
  // Two blocks that do not lie at a multiple of anything.
  std::vector<std::uint8_t> bytes(1 + 2 * type.block_bytes);
  std::vector<float> out(2 * type.block_size);
  for (int round = 0; round < 2000; ++round) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    dequantize(type.type, bytes.data() + 1, out);
    for (std::size_t b = 0; b < 2; ++b) {
      const auto expected =
          test::read_by_layout(type.type, bytes.data() + 1 + b * type.block_bytes);
      ASSERT_EQ(expected.size(), type.block_size);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const float read = out[b * type.block_size + i];
        if (std::isnan(expected[i])) {
          ASSERT_TRUE(std::isnan(read)) << i;
        } else {
          ASSERT_EQ(read, expected[i]) << "element " << i << " in round " << round;
        }
      }
    }
  }
}

TEST_P(Blocks, OfZerosAreExact) {
  const DTypeInfo& type = info(GetParam());
  const std::vector<float> zeros(type.block_size, 0.0F);
  std::vector<std::byte> bytes(type.block_bytes, std::byte{0xA5});
  std::vector<float> out(type.block_size, 1.0F);
  quantize(type.type, zeros, bytes.data());
  dequantize(type.type, bytes.data(), out);
  EXPECT_EQ(out, zeros);
}

/// Magnitudes from the least to the largest float: what a type can not hold becomes zero or shows
/// as no finite number; anything else is near.
TEST_P(Blocks, OfAnyMagnitudeAreNearOrShow) {
  const DTypeInfo& type = info(GetParam());
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> in(type.block_size), out(type.block_size);
  std::vector<std::byte> bytes(type.block_bytes);
  for (int exponent = -149; exponent < 127; ++exponent) {
    float largest = 0;
    for (float& x : in) {
      x = std::ldexp(std::clamp(normal(random), -1.9F, 1.9F), exponent);
      largest = std::max(largest, std::fabs(x));
    }
    quantize(type.type, in, bytes.data());
    dequantize(type.type, bytes.data(), out);
    // Halves are good for scales of 2^-14 to 2^15, and the scale is less than the values.
    const bool floats = type.type == DType::mxfp4;
    const int least = floats ? -125 : 0;
    const int most = floats ? 125 : 14;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (exponent < least) {
        ASSERT_LE(std::fabs(out[i]), largest * 1.5F + 1e-6F) << exponent;
      } else if (exponent < most || std::isfinite(out[i])) {
        ASSERT_NEAR(out[i], in[i], largest * 0.4F) << exponent;
      }
    }
  }
}

TEST_P(Blocks, WithOneThatIsNoNumberShowIt) {
  const DTypeInfo& type = info(GetParam());
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> out(3 * type.block_size);
  std::vector<std::byte> bytes(3 * type.block_bytes);
  for (const float strange : {infinity, -infinity, std::nanf(""), -std::nanf("")}) {
    for (std::size_t at = 0; at < type.block_size; at += 13) {
      std::vector<float> in(3 * type.block_size, 1.5F);
      const std::size_t place = type.block_size + at;
      in[place] = strange;
      quantize(type.type, in, bytes.data());
      dequantize(type.type, bytes.data(), out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (i / type.block_size != 1) {
          ASSERT_NEAR(out[i], 1.5F, 0.1F);
        } else if (i == place || std::isnan(strange)) {
          ASSERT_FALSE(std::isfinite(out[i])) << at << ' ' << strange;
        }
      }
    }
  }
}

TEST(MxFp4, TakesTheExponentThatErrsLess) {
  const auto written = [](float peak) {
    std::vector<float> in(32, 0.0F);
    in[0] = peak;
    BlockMXFP4 block;
    quantize(DType::mxfp4, in, &block);
    return block;
  };
  const BlockMXFP4 six = written(6.0F);
  EXPECT_EQ(six.exponent, 127);
  EXPECT_EQ(six.values[0] & 15, 7);
  const BlockMXFP4 eight = written(-7.9F);  // 6 would be cut, -8 is near
  EXPECT_EQ(eight.exponent, 128);
  EXPECT_EQ(eight.values[0] & 15, 14);
  EXPECT_EQ(written(0x1.8p-126F).exponent, 0);
  EXPECT_EQ(written(2.5e38F).exponent, 252);
}

/// Root mean squares of errors: plain, and with large values weighing more.
struct Errors {
  double plain = 0, weighted = 0;
};
class ErrorSum {
 public:
  /// Adds a row.
  void add(std::span<const float> expected, std::span<const float> read) {
    double square = 0;
    for (const float x : expected) square += double{x} * x;
    square /= static_cast<double>(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double error = double{read[i]} - expected[i];
      const double weight = 1 + double{expected[i]} * expected[i] / square;
      plain_ += error * error;
      weighted_ += weight * error * error;
      weights_ += weight;
      squares_ += double{expected[i]} * expected[i];
      ++count_;
    }
  }
  /// In parts of the root mean square of the values themselves.
  Errors relative() const {
    const double size = std::sqrt(squares_ / count_);
    return {std::sqrt(plain_ / count_) / size, std::sqrt(weighted_ / weights_) / size};
  }

 private:
  double plain_ = 0, weighted_ = 0, weights_ = 0, squares_ = 0, count_ = 0;
};

struct Peer {
  const char* file;
  DType type;
  double error;  ///< on these weights their plain error is at most this and more than half of it
  double ratio;  ///< our errors in parts of theirs, at most; 1: the same bytes
};
void PrintTo(const Peer& peer, std::ostream* stream) {
  *stream << peer.file << ' ' << name(peer.type);
}

class Peers : public testing::TestWithParam<Peer> {};
INSTANTIATE_TEST_SUITE_P(
    Types, Peers,
    testing::Values(Peer{"Q4_0", DType::q4_0, 0.1, 1}, Peer{"Q4_1", DType::q4_1, 0.1, 1},
                    Peer{"Q5_0", DType::q5_0, 0.05, 1}, Peer{"Q5_1", DType::q5_1, 0.05, 1},
                    Peer{"Q8_0", DType::q8_0, 0.01, 1}, Peer{"Q2_K", DType::q2_K, 0.35, 0.96},
                    Peer{"Q3_K_M", DType::q3_K, 0.2, 0.98}, Peer{"Q4_K_M", DType::q4_K, 0.1, 0.997},
                    Peer{"Q5_K_M", DType::q5_K, 0.05, 0.98}, Peer{"Q6_K", DType::q6_K, 0.025, 0.98},
                    Peer{"IQ4_NL", DType::iq4_nl, 0.1, 0.98},
                    Peer{"IQ4_XS", DType::iq4_xs, 0.1, 0.98}),
    [](const auto& peer) { return std::string(name(peer.param.type)); });

TEST_P(Peers, WriteNoBetterThanWeDo) {
  const Peer& peer = GetParam();
  const auto original = test::SharedModel::open("tiny-chat-f16.gguf");
  const auto theirs =
      test::SharedModel::open(std::string("quantized/tiny-chat-") + peer.file + ".gguf");
  if (!original || !theirs) GTEST_SKIP() << "the shared models are not here (set TACET_SHARED)";
  ErrorSum their_sum, our_sum;
  std::vector<std::byte> bytes;
  std::size_t equal = 0, tensors = 0;
  for (const TensorInfo& tensor : theirs->gguf.tensors()) {
    if (tensor.dtype().value() != peer.type) continue;
    const std::vector<float> expected = original->floats(tensor.name);
    const std::vector<float> read = theirs->floats(tensor.name);
    bytes.resize(tensor.data.size());
    std::vector<float> ours(expected.size());
    quantize(peer.type, expected, bytes.data());
    dequantize(peer.type, bytes.data(), ours);
    const std::size_t width = tensor.shape().back();
    for (std::size_t i = 0; i < expected.size(); i += width) {
      their_sum.add(std::span(expected).subspan(i, width), std::span(read).subspan(i, width));
      our_sum.add(std::span(expected).subspan(i, width), std::span(ours).subspan(i, width));
    }
    equal += std::memcmp(bytes.data(), tensor.data.data(), bytes.size()) == 0 ? 1 : 0;
    ++tensors;
  }
  ASSERT_GT(tensors, 0U);
  const Errors theirs_are = their_sum.relative();
  const Errors ours_are = our_sum.relative();
  // Their reader's and writer's errors are those of the type, so our reader finds what they wrote.
  EXPECT_LT(theirs_are.plain, peer.error);
  EXPECT_GT(theirs_are.plain, peer.error / 2);
  if (peer.ratio == 1) {
    EXPECT_EQ(equal, tensors) << "the reference form of a simple type has the same bytes";
  } else {
    EXPECT_LE(ours_are.plain, theirs_are.plain * peer.ratio);
    EXPECT_LE(ours_are.weighted, theirs_are.weighted * peer.ratio);
  }
}

}  // namespace
}  // namespace tacet
