#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
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
  double error;  ///< that the type has on these weights, relative and plain
};
void PrintTo(const Peer& peer, std::ostream* stream) {
  *stream << peer.file << ' ' << name(peer.type);
}

class Peers : public testing::TestWithParam<Peer> {};
INSTANTIATE_TEST_SUITE_P(
    Types, Peers,
    testing::Values(Peer{"Q4_0", DType::q4_0, 0.1}, Peer{"Q4_1", DType::q4_1, 0.1},
                    Peer{"Q5_0", DType::q5_0, 0.05}, Peer{"Q5_1", DType::q5_1, 0.05},
                    Peer{"Q8_0", DType::q8_0, 0.01}, Peer{"Q2_K", DType::q2_K, 0.4},
                    Peer{"Q3_K_M", DType::q3_K, 0.2}, Peer{"Q4_K_M", DType::q4_K, 0.1},
                    Peer{"Q5_K_M", DType::q5_K, 0.05}, Peer{"Q6_K", DType::q6_K, 0.03},
                    Peer{"IQ4_NL", DType::iq4_nl, 0.1}, Peer{"IQ4_XS", DType::iq4_xs, 0.1}),
    [](const auto& peer) { return std::string(name(peer.param.type)); });

TEST_P(Peers, AreReadNearAndNotBetterThanWhatIsWrittenHere) {
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
  std::printf(
      "%-8s plain %.5f ours %.5f ratio %.4f; weighted %.5f ours %.5f ratio %.4f; equal %zu/%zu\n",
      std::string(name(peer.type)).c_str(), theirs_are.plain, ours_are.plain,
      ours_are.plain / theirs_are.plain, theirs_are.weighted, ours_are.weighted,
      ours_are.weighted / theirs_are.weighted, equal, tensors);
  EXPECT_LT(theirs_are.plain, peer.error);
}

}  // namespace
}  // namespace tacet
