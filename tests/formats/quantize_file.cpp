#include "models/quantize_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf/writer.hpp"
#include "formats/gguf_bytes.hpp"
#include "formats/shared_models.hpp"
#include "formats/temporary_folder.hpp"

namespace tacet {
namespace {

using Shape = std::vector<std::uint64_t>;

std::string read_file(const std::string& path) {
  const auto file = FileBytes::load(path, {.mode = FileMode::read});
  if (!file) return std::string(file.error().message());
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

const Mix& mix(std::string_view name) {
  return *mix_from_name(name).value();
}

class QuantizeFile : public testing::Test {
 protected:
  /// A model of one tensor, f32 ones.
  std::string one_tensor(const std::string& name, const Shape& shape, DType type = DType::f32) {
    GgufWriter writer(folder / "one.gguf");
    writer.add("general.architecture", "llama");
    writer.add_tensor(name, type, shape);
    std::uint64_t elements = 1;
    for (const std::uint64_t size : shape) elements *= size;
    std::vector<std::byte> bytes(row_bytes(type, elements));
    quantize(type, std::vector<float>(elements, 1.0F), bytes.data());
    EXPECT_TRUE(writer.begin() && writer.write(bytes) && writer.finish());
    return folder / "one.gguf";
  }
  Code code_of(const std::string& in, const QuantizeOptions& options = {}) {
    const auto done = quantize_file(in, out, mix("Q4_0"), options);
    EXPECT_FALSE(std::filesystem::exists(out));
    return done ? Code::internal : done.error().code();
  }

  test::TemporaryFolder folder;
  std::string model = test::data_file("models/tiny-chat-f16.gguf");
  std::string out = folder / "out.gguf";
};

class SharedMix : public testing::TestWithParam<const char*> {
 protected:
  test::TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Files, SharedMix,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_M",
                                         "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL", "IQ4_XS", "BF16"),
                         [](const auto& type) { return std::string(type.param); });

/// llama.cpp made its file of the same f16 one.
TEST_P(SharedMix, GivesEachTensorTheTypeThatLlamaCppDoes) {
  const auto original = test::shared_file("models/tiny-chat-f16.gguf");
  const auto theirs =
      test::SharedModel::open(std::string("quantized/tiny-chat-") + GetParam() + ".gguf");
  if (!original || !theirs) GTEST_SKIP() << "the shared models are not here (set TACET_SHARED)";
  const std::string out = folder / "out.gguf";
  const auto done = quantize_file(*original, out, mix(GetParam()));
  ASSERT_TRUE(done) << done.error().message();
  const std::string bytes = read_file(out);
  EXPECT_EQ(bytes.size(), theirs->file.bytes().size());
  const auto ours = read_gguf(std::as_bytes(std::span(bytes)), out);
  ASSERT_TRUE(ours) << ours.error().message();

  ASSERT_EQ(ours->metadata().size(), theirs->gguf.metadata().size());
  for (const Metadata& entry : theirs->gguf.metadata()) {
    const Metadata* same = ours->find_metadata(entry.key);
    ASSERT_NE(same, nullptr) << entry.key;
    EXPECT_EQ(same->type, entry.type) << entry.key;
    ASSERT_EQ(same->payload.size(), entry.payload.size()) << entry.key;
    EXPECT_EQ(std::memcmp(same->payload.data(), entry.payload.data(), entry.payload.size()), 0)
        << entry.key;
  }
  ASSERT_EQ(ours->tensors().size(), theirs->gguf.tensors().size());
  std::uint64_t output_bytes = 0;
  for (const TensorInfo& tensor : theirs->gguf.tensors()) {
    const TensorInfo* same = ours->find(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_EQ(name(same->dtype().value()), name(tensor.dtype().value())) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(same->shape(), tensor.shape())) << tensor.name;
    ASSERT_EQ(same->data.size(), tensor.data.size()) << tensor.name;
    const DTypeInfo& type = info(same->dtype().value());
    output_bytes += same->data.size();
    if (type.block_size > 32 || type.type == DType::iq4_nl) continue;
    EXPECT_EQ(std::memcmp(same->data.data(), tensor.data.data(), tensor.data.size()), 0)
        << tensor.name;
  }
  EXPECT_EQ(done->output_bytes, output_bytes);
  EXPECT_EQ(done->converted, 29U);
  EXPECT_EQ(done->substituted, 0U);
}

/// Facts of llama.cpp's rules that the small model does not show.
TEST(Mixes, ChooseTypesByPlace) {
  const MixModel llama_8b{.layers = 32, .heads = 32, .kv_heads = 8, .experts = 0, .tied = false};
  const Shape square = {4096, 4096};
  const auto type = [&](std::string_view mix_name, std::string_view name, const MixModel& model) {
    return type_in_mix(mix(mix_name), model, name, square);
  };
  const auto layer = [&](std::string_view mix_name, int i, std::string_view part) {
    return type(mix_name, fmt::format("blk.{}.{}.weight", i, part), llama_8b);
  };
  EXPECT_EQ(type("Q4_K_M", "output.weight", llama_8b), DType::q6_K);
  EXPECT_EQ(type("Q4_K_M", "token_embd.weight", llama_8b), DType::q4_K);
  EXPECT_EQ(type("Q8_0", "output.weight", llama_8b), DType::q8_0);
  EXPECT_EQ(type("F16", "output.weight", llama_8b), DType::f16);
  MixModel tied = llama_8b;
  tied.tied = true;
  EXPECT_EQ(type("Q4_K_M", "token_embd.weight", tied), DType::q6_K);

  // The first four layers, the last four, and every third between.
  for (int i = 0; i < 32; ++i) {
    const bool more = i < 4 || i >= 28 || (i - 4) % 3 == 2;
    EXPECT_EQ(layer("Q4_K_M", i, "ffn_down"), more ? DType::q6_K : DType::q4_K) << i;
    EXPECT_EQ(layer("Q5_K_M", i, "attn_v"), more ? DType::q6_K : DType::q5_K) << i;
    EXPECT_EQ(layer("Q4_K_S", i, "ffn_down"), i < 4 ? DType::q5_K : DType::q4_K) << i;
    EXPECT_EQ(layer("Q4_K_S", i, "attn_v"), i < 4 ? DType::q5_K : DType::q4_K) << i;
    EXPECT_EQ(layer("Q3_K_M", i, "ffn_down"), i < 2 ? DType::q5_K : DType::q4_K) << i;
    EXPECT_EQ(layer("IQ4_XS", i, "ffn_down"), i < 4 ? DType::q5_K : DType::iq4_xs) << i;
  }
  EXPECT_EQ(layer("Q4_K_M", 9, "attn_q"), DType::q4_K);
  EXPECT_EQ(layer("IQ4_XS", 9, "attn_v"), DType::q5_K);
  EXPECT_EQ(layer("Q2_K", 9, "attn_v"), DType::q4_K);
  EXPECT_EQ(layer("Q3_K_S", 9, "attn_v"), DType::q3_K);
  MixModel llama_70b = llama_8b;
  llama_70b.layers = 80;
  EXPECT_EQ(type("Q4_K_S", "blk.20.attn_v.weight", llama_70b), DType::q5_K);
}

TEST(Mixes, RowsThatAreNotWholeBlocksTakeSmallerOnes) {
  const MixModel model{.layers = 24, .heads = 14, .kv_heads = 2, .experts = 0, .tied = true};
  const Shape odd = {128, 896};  // Qwen2 0.5B
  const auto type = [&](std::string_view mix_name, const Shape& shape) {
    return type_in_mix(mix(mix_name), model, "blk.9.attn_q.weight", shape);
  };
  EXPECT_EQ(type("Q4_K_M", odd), DType::q5_0);
  EXPECT_EQ(type("Q5_K_M", odd), DType::q5_1);
  EXPECT_EQ(type("Q6_K", odd), DType::q8_0);
  EXPECT_EQ(type("Q2_K", odd), DType::iq4_nl);
  EXPECT_EQ(type("Q3_K_M", odd), DType::iq4_nl);
  EXPECT_EQ(type("IQ4_XS", odd), DType::iq4_nl);
  EXPECT_EQ(type("Q4_0", odd), DType::q4_0);
  EXPECT_EQ(type("Q4_K_M", Shape{7, 40}), DType::f16);
  EXPECT_EQ(type("Q4_0", Shape{7, 40}), DType::f16);
  EXPECT_EQ(type_in_mix(mix("Q4_K_M"), model, "token_embd.weight", odd), DType::q8_0);
}

TEST(Mixes, LeaveNormsVectorsAndRoutersAlone) {
  EXPECT_TRUE(is_mixed("blk.0.ffn_up.weight", Shape{64, 64}));
  EXPECT_TRUE(is_mixed("blk.0.ffn_up_exps.weight", Shape{8, 64, 64}));
  EXPECT_FALSE(is_mixed("blk.0.ffn_gate_inp.weight", Shape{64, 64}));
  EXPECT_FALSE(is_mixed("blk.0.attn_norm.weight", Shape{64}));
  EXPECT_FALSE(is_mixed("blk.0.attn_norm.weight", Shape{1, 64}));
  EXPECT_FALSE(is_mixed("blk.0.attn_q_norm.weight", Shape{64, 64}));
  EXPECT_FALSE(is_mixed("blk.0.attn_q.bias", Shape{64, 64}));
  EXPECT_FALSE(is_mixed("position_embd.weight", Shape{64, 64}));
}

TEST(Mixes, AreFoundByNameInAnyCase) {
  for (const Mix& one : mixes()) EXPECT_EQ(mix_from_name(one.name).value(), &one);
  EXPECT_EQ(mix_from_name("q4_k_m").value()->name, "Q4_K_M");
  const auto unknown = mix_from_name("Q4_K");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::invalid_argument);
  EXPECT_NE(unknown.error().message().find("Q4_K_M, "), std::string_view::npos);
}

TEST_F(QuantizeFile, ThreadsDoNotChangeTheBytes) {
  std::string first;
  for (const unsigned threads : {1U, 2U, 5U}) {
    QuantizeOptions options;
    options.threads = threads;
    std::uint64_t last = 0, total = 0;
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      EXPECT_GT(done, last);
      last = done;
      total = all;
    };
    const auto done = quantize_file(model, out, mix("Q3_K_M"), options);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(last, total);
    EXPECT_EQ(total, done->input_bytes);
    if (first.empty()) first = read_file(out);
    EXPECT_EQ(read_file(out), first);
  }
}

TEST_F(QuantizeFile, CountsTensorsOfAnotherType) {
  const auto done = quantize_file(one_tensor("blk.0.attn_q.weight", {4, 96}), out, mix("Q6_K"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->converted, 1U);
  EXPECT_EQ(done->substituted, 1U);
  EXPECT_EQ(done->input_bytes, 4U * 96 * 4);
  EXPECT_EQ(done->output_bytes, 4U * 96 / 32 * 34);
}

TEST_F(QuantizeFile, AnyStopLeavesNothing) {
  StopSource before;
  before.request_stop();
  QuantizeOptions options;
  options.stop = before.token();
  EXPECT_EQ(code_of(model, options), Code::stopped);
  for (const int at : {1, 2, 20}) {
    StopSource source;
    options.stop = source.token();
    int calls = 0;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      if (++calls == at) source.request_stop();
    };
    EXPECT_EQ(code_of(model, options), Code::stopped);
    EXPECT_EQ(calls, at);
    EXPECT_EQ(folder.entries(), 0U);
  }
}

TEST_F(QuantizeFile, TheInputIsNeverWritten) {
  std::filesystem::copy(model, folder / "m.gguf");
  std::filesystem::create_symlink("m.gguf", folder / "link.gguf");
  std::filesystem::create_hard_link(folder / "m.gguf", folder / "hard.gguf");
  for (const char* name : {"m.gguf", "link.gguf", "hard.gguf"}) {
    const auto done = quantize_file(folder / "m.gguf", folder / name, mix("Q4_0"));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::invalid_argument);
    EXPECT_EQ(read_file(folder / "m.gguf"), read_file(model));
  }
}

TEST_F(QuantizeFile, QuantizedTensorsAreQuantizedAgainOnRequestOnly) {
  const std::string in = one_tensor("blk.0.attn_q.weight", {4, 64}, DType::q8_0);
  EXPECT_EQ(code_of(in), Code::invalid_argument);
  QuantizeOptions options;
  options.again = true;
  ASSERT_TRUE(quantize_file(in, out, mix("Q4_0"), options));
  // Those that have the type already are copied.
  ASSERT_TRUE(quantize_file(in, out, mix("Q8_0")));
  EXPECT_EQ(quantize_file(in, out, mix("Q8_0"))->converted, 0U);
}

TEST_F(QuantizeFile, WhatCanNotBeReadIsRefused) {
  EXPECT_EQ(code_of(folder / "none.gguf"), Code::not_found);
  EXPECT_EQ(code_of(folder.file("text.gguf", "no model")), Code::invalid_argument);
  const std::string whole = read_file(model);
  EXPECT_EQ(code_of(folder.file("cut.gguf", whole.substr(0, whole.size() / 2))), Code::corrupt);
  EXPECT_EQ(code_of(folder.file("unknown.gguf", test::sample().data)), Code::unsupported);
  GgufWriter part(folder / "part.gguf");
  part.add("split.count", std::uint32_t{3});
  ASSERT_TRUE(part.begin() && part.finish());
  EXPECT_EQ(code_of(folder / "part.gguf"), Code::unsupported);
}

TEST_F(QuantizeFile, MetadataOfEveryTypeIsKept) {
  test::Bytes bytes = test::sample();
  const auto before = read_gguf(bytes.span());
  ASSERT_TRUE(before);
  GgufWriter writer(out);
  for (const Metadata& entry : before->metadata()) {
    if (entry.key != "general.alignment") writer.add(entry);
  }
  ASSERT_TRUE(writer.begin() && writer.finish());
  const std::string written = read_file(out);
  const auto after = read_gguf(std::as_bytes(std::span(written)));
  ASSERT_TRUE(after) << after.error().message();
  ASSERT_EQ(after->metadata().size() + 1, before->metadata().size());
  for (const Metadata& entry : after->metadata()) {
    const Metadata* same = before->find_metadata(entry.key);
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(same->type, entry.type);
    EXPECT_EQ(same->element, entry.element);
    EXPECT_EQ(same->count, entry.count);
    EXPECT_TRUE(std::ranges::equal(same->payload, entry.payload)) << entry.key;
  }
}

}  // namespace
}  // namespace tacet
