#include "models/synth.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "formats/gguf/writer.hpp"
#include "models/mix.hpp"
#include "models/synth_vocabulary.hpp"
#include "types/convert.hpp"

namespace tacet {
namespace {

// name, architecture, layers, width, heads, kv_heads, head_size, ffn, vocabulary, first_special,
// context, rope_base, rope_factor, norm_epsilon, tied, pre_tokenizer: those of the published
// models.
constexpr SynthShape kShapes[] = {
    {"qwen2-0.5b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, 151643, 32768, 1e6F, 0, 1e-6F, true,
     "qwen2"},
    {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 151643, 40960, 1e6F, 0, 1e-6F, true,
     "qwen2"},
    {"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, 151643, 40960, 1e6F, 0, 1e-6F, true,
     "qwen2"},
    {"qwen3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 151643, 40960, 1e6F, 0, 1e-6F, false,
     "qwen2"},
    {"llama-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 128000, 131072, 5e5F, 32, 1e-5F, true,
     "llama-bpe"},
    {"llama-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 128000, 131072, 5e5F, 8, 1e-5F,
     false, "llama-bpe"},
    {"smollm2-135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, 49149, 8192, 1e5F, 0, 1e-5F, true,
     "smollm"},
    {"tiny-qwen2", "qwen2", 2, 128, 4, 2, 32, 192, 512, 500, 512, 1e4F, 0, 1e-6F, true, "qwen2"},
    {"tiny-qwen3", "qwen3", 2, 128, 4, 2, 64, 192, 512, 500, 512, 1e4F, 0, 1e-6F, true, "qwen2"},
    {"tiny-llama", "llama", 2, 128, 4, 2, 32, 192, 512, 500, 512, 1e4F, 32, 1e-5F, true,
     "llama-bpe"},
    {"tiny-llama-one", "llama", 1, 128, 4, 2, 32, 192, 512, 500, 512, 1e4F, 8, 1e-5F, true,
     "llama-bpe"},
    {"tiny-llama-256", "llama", 2, 256, 4, 1, 64, 512, 512, 500, 512, 1e4F, 8, 1e-5F, false,
     "llama-bpe"},
};

/// How a tensor's values are drawn.
enum class Fill { weight, norm, bias, rope_factors };

struct Tensor {
  std::string name;
  Fill fill;
  std::vector<std::uint64_t> shape;  ///< outermost first
  DType type = DType::f32;
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

/// Fills weights of one type and deviation with blocks that were drawn and quantized once.
class WeightSource {
 public:
  WeightSource(DType type, float deviation, std::uint64_t key)
      : unit_(std::max<std::size_t>(info(type).block_size, kLeastUnit)),
        unit_bytes_(row_bytes(type, unit_)),
        units_(kElements / unit_) {
    std::vector<float> values(kElements);
    for (std::size_t i = 0; i < kElements; ++i) values[i] = deviation * normal(draw(key, i));
    table_.resize(row_bytes(type, kElements));
    quantize(type, values, table_.data());
  }

  /// Elements `first` and on, whole units but for the end of a tensor.
  void fill(std::uint64_t key, std::uint64_t first, std::span<std::byte> out) const noexcept {
    for (std::uint64_t i = first / unit_; !out.empty(); ++i) {
      const std::size_t size = std::min(unit_bytes_, out.size());
      std::memcpy(out.data(), table_.data() + draw(key, i) % units_ * unit_bytes_, size);
      out = out.subspan(size);
    }
  }

 private:
  static constexpr std::size_t kElements = 128 << 10;
  static constexpr std::size_t kLeastUnit = 32;
  std::size_t unit_;  ///< elements that are copied together
  std::size_t unit_bytes_;
  std::size_t units_;
  std::vector<std::byte> table_;
};

/// By how much Llama 3 slows each rotation down (low 1, high 4, 8192 positions before).
float rope_factor(const SynthShape& shape, std::uint64_t index) noexcept {
  const double factor = shape.rope_factor;
  constexpr double kLow = 1.0;
  constexpr double kHigh = 4.0;
  constexpr double kContext = 8192.0;
  const double exponent = 2.0 * static_cast<double>(index) / shape.head_size;
  const double wavelength = 2.0 * std::numbers::pi * std::pow(double{shape.rope_base}, exponent);
  if (wavelength < kContext / kHigh) return 1.0F;
  if (wavelength > kContext / kLow) return static_cast<float>(factor);
  const double smooth = (kContext / wavelength - kLow) / (kHigh - kLow);
  return static_cast<float>(1.0 / ((1.0 - smooth) / factor + smooth));
}

std::vector<Tensor> tensors_of(const SynthShape& s) {
  const std::uint64_t width = s.width;
  const std::uint64_t q = std::uint64_t{s.heads} * s.head_size;
  const std::uint64_t kv = std::uint64_t{s.kv_heads} * s.head_size;
  std::vector<Tensor> list;
  list.push_back({"token_embd.weight", Fill::weight, {s.vocabulary, width}});
  list.push_back({"output_norm.weight", Fill::norm, {width}});
  if (!s.tied) list.push_back({"output.weight", Fill::weight, {s.vocabulary, width}});
  if (s.rope_factor != 0) {
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

void add_metadata(GgufWriter& writer, const SynthShape& s, const Mix& mix) {
  const auto key = [&](std::string_view rest) {
    return fmt::format("{}.{}", s.architecture, rest);
  };
  writer.add("general.architecture", s.architecture);
  writer.add("general.name", fmt::format("synthetic {}", s.name));
  writer.add("general.description",
             "Random weights in the shape of a real model, to measure speed; it prints noise.");
  writer.add("general.file_type", mix.file_type);
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
  SynthWriter(GgufWriter& writer, const SynthShape& shape, const SynthOptions& options)
      : writer_(writer),
        shape_(shape),
        options_(options),
        buffer_(kChunkElements * sizeof(float)) {}

  Result<void> write(const Tensor& tensor, std::uint64_t number) {
    const std::uint64_t key = draw(options_.seed, number + 1);
    if (tensor.fill != Fill::weight) {
      const std::vector<float> values = small_values(tensor, shape_, key);
      return emit(std::as_bytes(std::span(values)));
    }
    const WeightSource& source = source_of(tensor.type, tensor.shape[1]);
    const std::uint64_t total = tensor.shape[0] * tensor.shape[1];
    for (std::uint64_t first = 0; first < total;) {
      const std::uint64_t count = std::min<std::uint64_t>(kChunkElements, total - first);
      const auto out = std::span(buffer_).first(row_bytes(tensor.type, count));
      source.fill(key, first, out);
      if (auto ok = emit(out); !ok) return ok;
      first += count;
    }
    return {};
  }

 private:
  static constexpr std::size_t kChunkElements = 128 << 10;
  static constexpr std::uint64_t kProgressStep = 4 << 20;

  const WeightSource& source_of(DType type, std::uint64_t width) {
    const auto found = sources_.find({type, width});
    if (found != sources_.end()) return found->second;
    const float deviation = 1.0F / std::sqrt(static_cast<float>(width));
    const std::uint64_t key = draw(~options_.seed, width);
    return sources_.emplace(std::pair(type, width), WeightSource(type, deviation, key))
        .first->second;
  }

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
  const SynthOptions& options_;
  std::vector<std::byte> buffer_;
  std::map<std::pair<DType, std::uint64_t>, WeightSource> sources_;
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

std::span<const SynthShape> synth_shapes() noexcept {
  return kShapes;
}

Result<void> synth(std::string_view shape, std::string_view type, const std::string& out_path,
                   const SynthOptions& options) {
  const auto* found = std::find_if(std::begin(kShapes), std::end(kShapes),
                                   [&](const SynthShape& s) { return s.name == shape; });
  if (found == std::end(kShapes)) {
    std::string names;
    for (const SynthShape& s : kShapes) names += (names.empty() ? "" : ", ") + std::string(s.name);
    return fail(Code::invalid_argument, "There is no shape {}; use one of: {}.", quoted(shape),
                names);
  }
  auto mix = mix_from_name(type);
  if (!mix) return fail(std::move(mix));
  if (const StopReason reason = options.stop.reason(); reason != StopReason::none) {
    return fail(Code::stopped, "Writing '{}' stopped before it began ({}).", out_path,
                name(reason));
  }
  GgufWriter writer(out_path, options.stop);
  add_metadata(writer, *found, **mix);
  std::vector<Tensor> tensors = tensors_of(*found);
  const MixModel model{.layers = found->layers,
                       .heads = found->heads,
                       .kv_heads = found->kv_heads,
                       .experts = 0,
                       .tied = found->tied};
  for (Tensor& tensor : tensors) {
    if (tensor.fill == Fill::weight)
      tensor.type = type_in_mix(**mix, model, tensor.name, tensor.shape);
    writer.add_tensor(tensor.name, tensor.type, tensor.shape);
  }
  if (auto ok = writer.begin(); !ok) return ok;
  SynthWriter weights(writer, *found, options);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto ok = weights.write(tensors[i], i); !ok) return ok;
  }
  return writer.finish();
}

}  // namespace tacet
