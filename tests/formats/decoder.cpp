// What a file's keys and tensors make of a decoder-only transformer, and what is refused.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf/writer.hpp"
#include "formats/mapped_file.hpp"
#include "formats/temporary_folder.hpp"
#include "models/architecture.hpp"

namespace tacet {
namespace {

using Shapes = std::map<std::string, std::vector<std::uint64_t>>;

/// A model of one layer, 8 wide, with 2 heads.
struct Sketch {
  std::string architecture = "llama";
  std::map<std::string, std::uint32_t> numbers = {
      {"block_count", 1},         {"context_length", 64},      {"embedding_length", 8},
      {"feed_forward_length", 8}, {"attention.head_count", 2},
  };
  std::map<std::string, float> reals = {{"attention.layer_norm_rms_epsilon", 1e-5F}};
  std::map<std::string, std::string> texts = {};
  Shapes tensors = {
      {"token_embd.weight", {16, 8}},       {"output_norm.weight", {8}},
      {"blk.0.attn_norm.weight", {8}},      {"blk.0.attn_q.weight", {8, 8}},
      {"blk.0.attn_k.weight", {8, 8}},      {"blk.0.attn_v.weight", {8, 8}},
      {"blk.0.attn_output.weight", {8, 8}}, {"blk.0.ffn_norm.weight", {8}},
      {"blk.0.ffn_gate.weight", {8, 8}},    {"blk.0.ffn_up.weight", {8, 8}},
      {"blk.0.ffn_down.weight", {8, 8}},
  };
};

struct Built {
  ModelConfig config;
  std::size_t weights = 0;  ///< that the graph uses
};

Result<Built> build(const Sketch& sketch) {
  const test::TemporaryFolder folder;
  GgufWriter writer(folder / "m.gguf");
  writer.add("general.architecture", std::string_view(sketch.architecture));
  const auto key = [&](const std::string& suffix) { return sketch.architecture + "." + suffix; };
  for (const auto& [suffix, value] : sketch.numbers) writer.add(key(suffix), value);
  for (const auto& [suffix, value] : sketch.reals) writer.add(key(suffix), value);
  for (const auto& [suffix, value] : sketch.texts) {
    writer.add(key(suffix), std::string_view(value));
  }
  for (const auto& [name, shape] : sketch.tensors) writer.add_tensor(name, DType::f32, shape);
  if (auto ok = writer.begin(); !ok) return fail(std::move(ok));
  const std::vector<std::byte> zeros(writer.data_bytes());
  if (auto ok = writer.write(zeros); !ok) return fail(std::move(ok));
  if (auto ok = writer.finish(); !ok) return fail(std::move(ok));
  auto file = FileBytes::load(folder / "m.gguf");
  if (!file) return fail(std::move(file));
  const auto gguf = read_gguf(file->bytes());
  if (!gguf) return tl::unexpected(gguf.error());
  const auto architecture = architecture_of(*gguf);
  if (!architecture) return tl::unexpected(architecture.error());
  auto config = (*architecture)->configure(*gguf);
  if (!config) return fail(std::move(config));
  const auto weights = Weights::read(*gguf);
  const auto graph = (*architecture)->build(*config, *weights, {});
  if (!graph) return tl::unexpected(graph.error());
  Built built{.config = *config};
  for (const Value& value : graph->values) {
    if (value.kind == ValueKind::weight) ++built.weights;
  }
  return built;
}

void expect_refused(const Sketch& sketch, Code code, std::string_view what) {
  const auto built = build(sketch);
  ASSERT_FALSE(built.has_value()) << what;
  EXPECT_EQ(built.error().code(), code) << built.error().message();
  EXPECT_NE(built.error().message().find(what), std::string_view::npos) << built.error().message();
  // A remedy stands behind a comma or semicolon.
  EXPECT_NE(built.error().message().find_first_of(",;"), std::string_view::npos)
      << built.error().message();
}

TEST(Decoder, UsesAllWeightsOfAFile) {
  Sketch sketch;
  EXPECT_EQ(build(sketch).value().weights, sketch.tensors.size());
  sketch.tensors["rope_freqs.weight"] = {2};
  sketch.tensors["output.weight"] = {16, 8};
  EXPECT_EQ(build(sketch).value().weights, sketch.tensors.size());
  sketch.tensors["blk.0.attn_rot_embd.weight"] = {2};  // what other readers leave alone too
  EXPECT_EQ(build(sketch).value().weights, sketch.tensors.size() - 1);
}

TEST(Decoder, TakesTheBiasesOfAFile) {
  for (const char* name :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    Sketch sketch;
    sketch.tensors[std::string("blk.0.") + name + ".bias"] = {8};
    EXPECT_EQ(build(sketch).value().weights, sketch.tensors.size()) << name;
  }
  Sketch qwen2{.architecture = "qwen2"};
  EXPECT_EQ(build(qwen2).value().weights, qwen2.tensors.size());
}

TEST(Decoder, RefusesAWeightThatItDoesNotUse) {
  for (const char* name :
       {"blk.0.attn_sinks.weight", "blk.1.attn_q.weight", "blk.0.attn_q_norm.weight",
        "blk.0.attn_norm.bias", "blk.0.attn_q.scale", "output.bias"}) {
    Sketch sketch;
    sketch.tensors[name] = {8};
    expect_refused(sketch, Code::unsupported, name);
  }
}

TEST(Decoder, RefusesExperts) {
  Sketch sketch;
  sketch.numbers["expert_count"] = 8;
  sketch.tensors.erase("blk.0.ffn_gate.weight");
  expect_refused(sketch, Code::unsupported, "mixture of 8 experts");
  sketch = {};
  sketch.numbers["expert_count"] = 0;
  EXPECT_TRUE(build(sketch).has_value());
}

TEST(Decoder, ScalesPositionsAsFilesMeanIt) {
  Sketch sketch;
  EXPECT_EQ(build(sketch).value().config.rope_scale, 1.0F);
  sketch.reals["rope.scale_linear"] = 2.0F;
  EXPECT_EQ(build(sketch).value().config.rope_scale, 0.5F);
  sketch.reals["rope.scaling.factor"] = 4.0F;  // the newer key counts
  EXPECT_EQ(build(sketch).value().config.rope_scale, 0.25F);
  sketch.texts["rope.scaling.type"] = "linear";
  EXPECT_EQ(build(sketch).value().config.rope_scale, 0.25F);
  sketch.texts["rope.scaling.type"] = "none";
  EXPECT_EQ(build(sketch).value().config.rope_scale, 1.0F);
  sketch.texts["rope.scaling.type"] = "linear";
  sketch.reals["rope.scaling.factor"] = 0.0F;
  EXPECT_EQ(build(sketch).value().config.rope_scale, 1.0F);
  sketch.texts["rope.scaling.type"] = "longrope";
  expect_refused(sketch, Code::unsupported, "longrope");
}

TEST(Decoder, ScalesPositionsByYarn) {
  // Qwen2.5-7B-Instruct as its card says to run it beyond 32,768 tokens: heads of 128. The pairs
  // are those of Hugging Face's _compute_yarn_parameters.
  Sketch sketch;
  sketch.numbers["attention.key_length"] = 128;
  sketch.numbers["attention.value_length"] = 128;
  sketch.numbers["rope.scaling.original_context_length"] = 32768;
  sketch.tensors["blk.0.attn_q.weight"] = {256, 8};
  sketch.tensors["blk.0.attn_k.weight"] = {256, 8};
  sketch.tensors["blk.0.attn_v.weight"] = {256, 8};
  sketch.tensors["blk.0.attn_output.weight"] = {8, 256};
  sketch.reals["rope.freq_base"] = 1e6F;
  sketch.reals["rope.scaling.factor"] = 4.0F;
  sketch.texts["rope.scaling.type"] = "yarn";
  const ModelConfig config = build(sketch).value().config;
  EXPECT_EQ(config.rope_scale, 0.25F);
  EXPECT_EQ(config.rope_low, 23);
  EXPECT_EQ(config.rope_high, 40);
  EXPECT_NEAR(config.rope_magnitude, 1.138629436, 1e-6);
  sketch.reals["rope.scaling.attn_factor"] = 0.5F;
  EXPECT_NEAR(build(sketch).value().config.rope_magnitude, 0.569314718, 1e-6);
  sketch.reals["rope.scaling.yarn_beta_fast"] = 1.0F;
  EXPECT_EQ(build(sketch).value().config.rope_low, 39);
  sketch.reals["rope.scaling.yarn_beta_slow"] = 1e-20F;  // beyond the last pair
  EXPECT_EQ(build(sketch).value().config.rope_high, 127.001F);
  sketch.numbers["rope.scaling.original_context_length"] = 1;  // and before the first
  EXPECT_EQ(build(sketch).value().config.rope_low, 0);
  sketch.numbers.erase("rope.scaling.original_context_length");  // that of the model: 64
  sketch.reals.erase("rope.scaling.yarn_beta_fast");
  sketch.reals.erase("rope.scaling.yarn_beta_slow");
  EXPECT_EQ(build(sketch).value().config.rope_high, 11);
  sketch.reals["rope.freq_base"] = 1.0F;
  expect_refused(sketch, Code::corrupt, "rope.freq_base is 1");
  sketch.reals["rope.freq_base"] = 1e6F;
  sketch.reals["rope.scaling.yarn_beta_fast"] = 0.0F;
  expect_refused(sketch, Code::corrupt, "yarn_beta_fast");
}

TEST(Decoder, TakesTheMagnitudeOfRotatedQueriesAndKeys) {
  Sketch sketch;
  EXPECT_EQ(build(sketch).value().config.rope_magnitude, 1.0F);
  sketch.reals["rope.scaling.attn_factor"] = 1.25F;
  EXPECT_EQ(build(sketch).value().config.rope_magnitude, 1.25F);
  sketch.texts["rope.scaling.type"] = "none";
  EXPECT_EQ(build(sketch).value().config.rope_magnitude, 1.25F);
}

TEST(Decoder, NamesTheKeyThatIsWrong) {
  Sketch narrow;
  narrow.numbers["embedding_length"] = 1;
  expect_refused(narrow, Code::corrupt, "llama.embedding_length is 1");
  Sketch base;
  base.reals["rope.freq_base"] = 9.99e37F;
  expect_refused(base, Code::corrupt, "below 1e30");
  base.reals["rope.freq_base"] = 1e-38F;
  expect_refused(base, Code::corrupt, "above 1e-30");
  Sketch odd;
  odd.numbers["embedding_length"] = 6;
  expect_refused(odd, Code::corrupt, "heads have 3 elements");
  odd.numbers["rope.dimension_count"] = 3;
  expect_refused(odd, Code::corrupt, "llama.rope.dimension_count is 3");
  Sketch groups;
  groups.numbers["attention.head_count"] = 4;
  groups.numbers["attention.head_count_kv"] = 3;
  expect_refused(groups, Code::corrupt, "4 heads");
  Sketch layers;
  layers.numbers["block_count"] = 0;
  expect_refused(layers, Code::corrupt, "'llama.block_count' is 0");
}

}  // namespace
}  // namespace tacet
