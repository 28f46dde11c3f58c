#include "models/synth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "formats/gguf/reader.hpp"
#include "formats/mapped_file.hpp"
#include "formats/temporary_folder.hpp"
#include "models/mix.hpp"
#include "models/quantize_file.hpp"
#include "types/convert.hpp"

namespace tacet {
namespace {

std::vector<float> values_of(const TensorInfo& info) {
  std::vector<float> values(info.elements);
  dequantize(info.dtype().value(), info.data.data(), values);
  return values;
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments(const std::vector<float>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const float x : values) {
    sum += x;
    squares += double{x} * x;
  }
  const auto count = static_cast<double>(values.size());
  return {sum / count, std::sqrt(squares / count - (sum / count) * (sum / count))};
}

class Synth : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  test::TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Tiny, Synth,
                         testing::Combine(testing::Values("tiny-qwen2", "tiny-qwen3", "tiny-llama"),
                                          testing::Values("F16", "Q8_0")));

TEST_P(Synth, TheFileIsAModelOfItsShape) {
  const auto& [shape, type] = GetParam();
  const auto written = synth(shape, type, folder / "m.gguf");
  ASSERT_TRUE(written) << written.error().message();
  const auto file = FileBytes::load(folder / "m.gguf");
  ASSERT_TRUE(file);
  const auto gguf = read_gguf(file->bytes());
  ASSERT_TRUE(gguf) << gguf.error().message();

  const auto architecture = std::string(gguf->string_value("general.architecture").value());
  EXPECT_EQ(shape, "tiny-" + architecture);
  EXPECT_EQ(gguf->unsigned_value(architecture + ".block_count").value(), 2U);
  const auto tokens = gguf->string_array("tokenizer.ggml.tokens").value();
  EXPECT_EQ(tokens.size(), 512U);
  EXPECT_EQ(std::set<std::string_view>(tokens.begin(), tokens.end()).size(), tokens.size());
  EXPECT_EQ(tokens[500], "<|endoftext|>");
  EXPECT_EQ(tokens[502], "<|im_end|>");
  EXPECT_EQ(gguf->int_array("tokenizer.ggml.token_type").value()[502], 3);
  EXPECT_EQ(gguf->unsigned_value("tokenizer.ggml.eos_token_id").value(), 502U);
  const auto merges = gguf->string_array("tokenizer.ggml.merges").value();
  EXPECT_EQ(merges.size(), 8U);
  for (const std::string_view merge : merges) {
    const std::size_t space = merge.find(' ');
    const std::string joined =
        std::string(merge.substr(0, space)) + std::string(merge.substr(space + 1));
    EXPECT_NE(std::find(tokens.begin(), tokens.end(), joined), tokens.end()) << merge;
  }

  EXPECT_EQ(gguf->find("blk.0.attn_q.bias") != nullptr, architecture == "qwen2");
  EXPECT_EQ(gguf->find("blk.1.attn_k_norm.weight") != nullptr, architecture == "qwen3");
  EXPECT_EQ(gguf->find("rope_freqs.weight") != nullptr, architecture == "llama");
  EXPECT_EQ(gguf->find("output.weight"), nullptr);
  for (const TensorInfo& info : gguf->tensors()) {
    const bool matrix = info.shape().size() == 2;
    EXPECT_EQ(info.dtype().value(), matrix ? dtype_from_name(type).value() : DType::f32)
        << info.name;
    const auto [mean, deviation] = moments(values_of(info));
    if (matrix) {
      const double expected = 1.0 / std::sqrt(static_cast<double>(info.shape()[1]));
      EXPECT_NEAR(mean, 0.0, 0.05 * expected) << info.name;
      EXPECT_NEAR(deviation, expected, 0.06 * expected) << info.name;
    } else if (info.name.find("norm") != std::string_view::npos) {
      EXPECT_NEAR(mean, 1.0, 0.1) << info.name;
    }
  }
}

TEST_P(Synth, TheSeedDecides) {
  const std::string shape = std::get<0>(GetParam());
  const std::string type = std::get<1>(GetParam());
  const auto make = [&](std::uint64_t seed) {
    const std::string path = folder / "s.gguf";
    EXPECT_TRUE(synth(shape, type, path, {.seed = seed, .stop = {}, .progress = {}}));
    const auto file = FileBytes::load(path, {.mode = FileMode::read});
    return std::vector<std::byte>(file->bytes().begin(), file->bytes().end());
  };
  const auto one = make(1);
  EXPECT_TRUE(one == make(1));
  EXPECT_FALSE(one == make(2));
}

/// Every mix, on rows that are whole blocks and on rows that are not: sane values, and the types
/// that quantizing the f16 file would give.
TEST(SynthMixes, HaveTheTypesAndTheSizeOfWeights) {
  const test::TemporaryFolder folder;
  for (const std::string shape : {"tiny-llama-256", "tiny-llama"}) {
    ASSERT_TRUE(synth(shape, "F16", folder / "f16.gguf"));
    for (const Mix& mix : mixes()) {
      ASSERT_TRUE(synth(shape, mix.name, folder / "s.gguf"));
      ASSERT_TRUE(quantize_file(folder / "f16.gguf", folder / "q.gguf", mix));
      const auto file = FileBytes::load(folder / "s.gguf");
      const auto same = FileBytes::load(folder / "q.gguf");
      const auto gguf = read_gguf(file->bytes()).value();
      const auto quantized = read_gguf(same->bytes()).value();
      EXPECT_EQ(file->bytes().size(), same->bytes().size());
      EXPECT_EQ(gguf.unsigned_value("general.file_type").value(), mix.file_type);
      EXPECT_EQ(gguf.find("output.weight") != nullptr, shape == "tiny-llama-256");
      for (const TensorInfo& info : gguf.tensors()) {
        EXPECT_EQ(info.type, quantized.find(info.name)->type) << mix.name << ' ' << info.name;
        if (info.shape().size() < 2) continue;
        const auto [mean, deviation] = moments(values_of(info));
        const double expected = 1.0 / std::sqrt(static_cast<double>(info.shape()[1]));
        EXPECT_NEAR(mean, 0.0, 0.1 * expected) << mix.name << ' ' << info.name;
        EXPECT_NEAR(deviation, expected, 0.1 * expected) << mix.name << ' ' << info.name;
      }
    }
  }
}

TEST(SynthErrors, NameWhatIsPossible) {
  const test::TemporaryFolder folder;
  const auto shape = synth("gpt-9", "f16", folder / "m.gguf");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code(), Code::invalid_argument);
  EXPECT_NE(shape.error().message().find("qwen2-0.5b, qwen3-0.6b, qwen3-4b, qwen3-8b, llama-1b"),
            std::string_view::npos);
  EXPECT_EQ(synth("tiny-llama", "i32", folder / "m.gguf").error().code(), Code::invalid_argument);
  EXPECT_EQ(synth("tiny-llama", "f16", folder / "none/m.gguf").error().code(), Code::not_found);
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(SynthStop, LeavesNothing) {
  const test::TemporaryFolder folder;
  StopSource before;
  before.request_stop();
  SynthOptions options;
  options.stop = before.token();
  EXPECT_EQ(synth("tiny-llama", "f16", folder / "m.gguf", options).error().code(), Code::stopped);

  StopSource during;
  options.stop = during.token();
  std::uint64_t told = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    told = done;
    during.request_stop();
  };
  EXPECT_EQ(synth("qwen2-0.5b", "q8_0", folder / "m.gguf", options).error().code(), Code::stopped);
  EXPECT_GE(told, 4U << 20);
  EXPECT_LE(told, 5U << 20);
  EXPECT_EQ(folder.entries(), 0U);
}

/// From the definition in Llama 3's reference code, with other arithmetic: for each rotation, which
/// side it is on.
TEST(SynthRope, FactorsOfLlama3) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(synth("tiny-llama", "f16", folder / "m.gguf"));
  const auto file = FileBytes::load(folder / "m.gguf");
  const auto gguf = read_gguf(file->bytes()).value();
  const auto factors = values_of(*gguf.find("rope_freqs.weight"));
  ASSERT_EQ(factors.size(), 16U);
  EXPECT_EQ(factors[0], 1.0F);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double turns =
        8192.0 / (2.0 * 3.14159265358979 * std::pow(1e4, static_cast<double>(i) / 16.0));
    if (turns > 4.0) {
      EXPECT_EQ(factors[i], 1.0F) << i;
    } else if (turns < 1.0) {
      EXPECT_EQ(factors[i], 32.0F) << i;
    } else {
      const double expected = 32.0 / (1.0 + 31.0 * (turns - 1.0) / 3.0);
      EXPECT_NEAR(factors[i], expected, 1e-4 * expected) << i;
    }
  }
}

}  // namespace
}  // namespace tacet
