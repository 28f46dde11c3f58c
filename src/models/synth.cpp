#include "models/synth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "formats/gguf/writer.hpp"
#include "models/synth_vocabulary.hpp"
#include "types/convert.hpp"

namespace tacet {
namespace {

constexpr SynthShape kShapes[] = {
    {"qwen2-0.5b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, 151643, 32768, 1e6F, 1e-6F, "qwen2"},
    {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 151643, 40960, 1e6F, 1e-6F,
     "qwen2"},
    {"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, 151643, 40960, 1e6F, 1e-6F, "qwen2"},
    {"llama-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 128000, 131072, 5e5F, 1e-5F,
     "llama-bpe"},
    {"tiny-qwen2", "qwen2", 2, 128, 4, 2, 32, 192, 512, 500, 512, 1e4F, 1e-6F, "qwen2"},
    {"tiny-qwen3", "qwen3", 2, 128, 4, 2, 64, 192, 512, 500, 512, 1e4F, 1e-6F, "qwen2"},
    {"tiny-llama", "llama", 2, 128, 4, 2, 32, 192, 512, 500, 512, 1e4F, 1e-5F, "llama-bpe"},
};

/// How a tensor's values are drawn.
enum class Fill { weight, norm, bias, rope_factors };

struct Tensor {
  std::string name;
  Fill fill;
  std::vector<std::uint64_t> shape;  ///< outermost first
};

/// A counter-based generator: the output mix of SplitMix64 (Steele, Lea, Flood 2014) of a key and a
/// counter.
std::uint64_t draw(std::uint64_t key, std::uint64_t counter) noexcept {
  std::uint64_t z = key + counter * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// A sum of four uniform numbers, shifted and scaled to mean 0 and variance 1.
float normal(std::uint64_t bits) noexcept {
  const std::uint64_t sum =
      (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  constexpr float kScale = std::numbers::sqrt3_v<float> / 65536.0F;
  return (static_cast<float>(sum) - 131070.0F) * kScale;
}

/// Fills f16 weights from a table of values, four to a draw.
class F16Source {
 public:
  F16Source(std::uint64_t key, float deviation) : key_(key) {
    for (std::size_t i = 0; i < kSize / 2; ++i) {
      table_[i] = f32_to_f16(deviation * normal(draw(~key, i)));
      table_[i + kSize / 2] = table_[i] ^ 0x8000U;
    }
  }

  void fill(std::uint64_t first, std::span<std::byte> out) const noexcept {
    std::byte* to = out.data();
    for (std::uint64_t i = 0; i < out.size() / 8; ++i) {
      const std::uint64_t bits = draw(key_, first / 4 + i);
      const std::array<std::uint16_t, 4> values = {table_[bits & kMask], table_[bits >> 16 & kMask],
                                                   table_[bits >> 32 & kMask],
                                                   table_[bits >> 48 & kMask]};
      std::memcpy(to, values.data(), sizeof(values));
      to += sizeof(values);
    }
  }

 private:
  static constexpr std::size_t kSize = 4096;
  static constexpr std::uint64_t kMask = kSize - 1;
  std::uint64_t key_;
  std::array<std::uint16_t, kSize> table_{};
};

/// Fills Q8_0 blocks: each value is the mean of two random bytes, each block's scale is within a
/// quarter of the middle.
void fill_q8_0(std::uint64_t key, float deviation, std::uint64_t first,
               std::span<std::byte> out) noexcept {
  constexpr std::uint64_t kDraws = 9;
  constexpr float kDeviation = 52.3F;  // of such a mean: 256 / sqrt(24)
  std::byte* to = out.data();
  for (std::uint64_t i = 0; i < out.size() / sizeof(BlockQ8_0); ++i) {
    const std::uint64_t counter = (first / 32 + i) * kDraws;
    BlockQ8_0 block;
    const auto jitter = static_cast<float>(draw(key, counter) >> 48) / 65536.0F;
    block.scale = f32_to_f16(deviation / kDeviation * (0.75F + 0.5F * jitter));
    for (std::uint64_t word = 0; word < 4; ++word) {
      const std::uint64_t a = draw(key, counter + 1 + 2 * word);
      const std::uint64_t b = draw(key, counter + 2 + 2 * word);
      const std::uint64_t mean = (a & b) + ((a ^ b) >> 1 & 0x7F7F7F7F7F7F7F7FU);
      const std::uint64_t centred = mean ^ 0x8080808080808080U;
      std::memcpy(block.values + 8 * word, &centred, 8);
    }
    // No quantizer writes -128, and some kernels rely on that.
    for (std::int8_t& value : block.values) value = std::max<std::int8_t>(value, -127);
    std::memcpy(to, &block, sizeof(block));
    to += sizeof(block);
  }
}

/// By how much Llama 3 slows each rotation down (factor 32, low 1, high 4, 8192 positions before).
float rope_factor(const SynthShape& shape, std::uint64_t index) noexcept {
  constexpr double kFactor = 32.0;
  constexpr double kLow = 1.0;
  constexpr double kHigh = 4.0;
  constexpr double kContext = 8192.0;
  const double exponent = 2.0 * static_cast<double>(index) / shape.head_size;
  const double wavelength = 2.0 * std::numbers::pi * std::pow(double{shape.rope_base}, exponent);
  if (wavelength < kContext / kHigh) return 1.0F;
  if (wavelength > kContext / kLow) return static_cast<float>(kFactor);
  const double smooth = (kContext / wavelength - kLow) / (kHigh - kLow);
  return static_cast<float>(1.0 / ((1.0 - smooth) / kFactor + smooth));
}

std::vector<Tensor> tensors_of(const SynthShape& s) {
  const std::uint64_t width = s.width;
  const std::uint64_t q = std::uint64_t{s.heads} * s.head_size;
  const std::uint64_t kv = std::uint64_t{s.kv_heads} * s.head_size;
  std::vector<Tensor> list;
  list.push_back({"token_embd.weight", Fill::weight, {s.vocabulary, width}});
  list.push_back({"output_norm.weight", Fill::norm, {width}});
  if (s.architecture == "llama") {
    list.push_back({"rope_freqs.weight", Fill::rope_factors, {s.head_size / 2}});
  }
  for (std::uint32_t i = 0; i < s.layers; ++i) {
    const auto add = [&](std::string_view part, Fill fill, std::vector<std::uint64_t> shape) {
      list.push_back({fmt::format("blk.{}.{}", i, part), fill, std::move(shape)});
    };
    add("attn_norm.weight", Fill::norm, {width});
    add("attn_q.weight", Fill::weight, {q, width});
    add("attn_k.weight", Fill::weight, {kv, width});
    add("attn_v.weight", Fill::weight, {kv, width});
    if (s.architecture == "qwen2") {
      add("attn_q.bias", Fill::bias, {q});
      add("attn_k.bias", Fill::bias, {kv});
      add("attn_v.bias", Fill::bias, {kv});
    }
    if (s.architecture == "qwen3") {
      add("attn_q_norm.weight", Fill::norm, {s.head_size});
      add("attn_k_norm.weight", Fill::norm, {s.head_size});
    }
    add("attn_output.weight", Fill::weight, {width, q});
    add("ffn_norm.weight", Fill::norm, {width});
    add("ffn_gate.weight", Fill::weight, {s.ffn, width});
    add("ffn_up.weight", Fill::weight, {s.ffn, width});
    add("ffn_down.weight", Fill::weight, {width, s.ffn});
  }
  return list;
}

void add_metadata(GgufWriter& writer, const SynthShape& s, DType type) {
  const auto key = [&](std::string_view rest) {
    return fmt::format("{}.{}", s.architecture, rest);
  };
  writer.add("general.architecture", s.architecture);
  writer.add("general.name", fmt::format("synthetic {}", s.name));
  writer.add("general.description",
             "Random weights in the shape of a real model, to measure speed; it prints noise.");
  writer.add("general.file_type", std::uint32_t{type == DType::q8_0 ? 7U : 1U});
  writer.add("general.quantization_version", std::uint32_t{2});
  writer.add(key("block_count"), s.layers);
  writer.add(key("context_length"), s.context);
  writer.add(key("embedding_length"), s.width);
  writer.add(key("feed_forward_length"), s.ffn);
  writer.add(key("attention.head_count"), s.heads);
  writer.add(key("attention.head_count_kv"), s.kv_heads);
  writer.add(key("attention.layer_norm_rms_epsilon"), s.norm_epsilon);
  writer.add(key("rope.freq_base"), s.rope_base);
  if (s.architecture == "qwen3") {
    writer.add(key("attention.key_length"), s.head_size);
    writer.add(key("attention.value_length"), s.head_size);
  }
  if (s.architecture == "llama") {
    writer.add(key("rope.dimension_count"), s.head_size);
    writer.add(key("vocab_size"), s.vocabulary);
  }
  add_synth_vocabulary(writer, s.vocabulary, s.first_special, s.pre_tokenizer);
}

/// Norms, biases and factors: small, so made whole.
std::vector<float> small_values(const Tensor& tensor, const SynthShape& shape, std::uint64_t key) {
  std::vector<float> values(tensor.shape.back());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = 0.1F * normal(draw(key, i));
    if (tensor.fill == Fill::norm) values[i] = 1.0F + x;
    if (tensor.fill == Fill::bias) values[i] = x;
    if (tensor.fill == Fill::rope_factors) values[i] = rope_factor(shape, i);
  }
  return values;
}

/// Writes tensors one after the other and tells the progress.
class SynthWriter {
 public:
  SynthWriter(GgufWriter& writer, const SynthShape& shape, DType type, const SynthOptions& options)
      : writer_(writer), shape_(shape), type_(type), options_(options), buffer_(kChunkBytes) {}

  Result<void> write(const Tensor& tensor, std::uint64_t number) {
    const std::uint64_t key = draw(options_.seed, number + 1);
    if (tensor.fill != Fill::weight) {
      const std::vector<float> values = small_values(tensor, shape_, key);
      return emit(std::as_bytes(std::span(values)));
    }
    const float deviation = 1.0F / std::sqrt(static_cast<float>(tensor.shape.back()));
    const std::uint64_t total = tensor.shape[0] * tensor.shape[1];
    const F16Source f16(key, deviation);
    for (std::uint64_t first = 0; first < total;) {
      const std::uint64_t count = std::min<std::uint64_t>(kChunkElements, total - first);
      const auto out = std::span(buffer_).first(row_bytes(type_, count));
      if (type_ == DType::q8_0) {
        fill_q8_0(key, deviation, first, out);
      } else {
        f16.fill(first, out);
      }
      if (auto ok = emit(out); !ok) return ok;
      first += count;
    }
    return {};
  }

 private:
  static constexpr std::size_t kChunkElements = 128 << 10;
  static constexpr std::size_t kChunkBytes = 2 * kChunkElements;
  static constexpr std::uint64_t kProgressStep = 4 << 20;

  Result<void> emit(std::span<const std::byte> bytes) {
    if (auto ok = writer_.write(bytes); !ok) return ok;
    done_ += bytes.size();
    const std::uint64_t total = writer_.data_bytes();
    if (!options_.progress || (done_ != total && done_ - told_ < kProgressStep)) return {};
    told_ = done_;
    options_.progress(done_, total);
    return {};
  }

  GgufWriter& writer_;
  const SynthShape& shape_;
  DType type_;
  const SynthOptions& options_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

std::span<const SynthShape> synth_shapes() noexcept {
  return kShapes;
}

Result<void> synth(std::string_view shape, DType type, const std::string& out_path,
                   const SynthOptions& options) {
  const auto* found = std::find_if(std::begin(kShapes), std::end(kShapes),
                                   [&](const SynthShape& s) { return s.name == shape; });
  if (found == std::end(kShapes)) {
    std::string names;
    for (const SynthShape& s : kShapes) names += (names.empty() ? "" : ", ") + std::string(s.name);
    return fail(Code::invalid_argument, "There is no shape {}; use one of: {}.", quoted(shape),
                names);
  }
  if (type != DType::f16 && type != DType::q8_0) {
    return fail(Code::unsupported, "Weights of type {} can not be synthesized; use f16 or q8_0.",
                name(type));
  }
  if (const StopReason reason = options.stop.reason(); reason != StopReason::none) {
    return fail(Code::stopped, "Writing '{}' stopped before it began ({}).", out_path,
                name(reason));
  }
  GgufWriter writer(out_path, options.stop);
  add_metadata(writer, *found, type);
  const std::vector<Tensor> tensors = tensors_of(*found);
  for (const Tensor& tensor : tensors) {
    writer.add_tensor(tensor.name, tensor.fill == Fill::weight ? type : DType::f32, tensor.shape);
  }
  if (auto ok = writer.begin(); !ok) return ok;
  SynthWriter weights(writer, *found, type, options);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto ok = weights.write(tensors[i], i); !ok) return ok;
  }
  return writer.finish();
}

}  // namespace tacet
