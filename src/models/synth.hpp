#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "formats/mapped_file.hpp"
#include "tacet/stop.hpp"

namespace tacet {

/// The dimensions of a model that `synth` can write.
struct SynthShape {
  std::string_view name;          ///< "qwen2-0.5b"
  std::string_view architecture;  ///< GGUF's general.architecture
  std::uint32_t layers;
  std::uint32_t width;  ///< of the residual stream
  std::uint32_t heads;
  std::uint32_t kv_heads;
  std::uint32_t head_size;
  std::uint32_t ffn;  ///< width of the gated feed-forward layer
  std::uint32_t vocabulary;
  std::uint32_t first_special;  ///< id of <|endoftext|>; <|im_start|> and <|im_end|> follow
  std::uint32_t context;
  float rope_base;
  float rope_factor;  ///< of Llama 3's scaling, in rope_freqs.weight; 0: none
  float norm_epsilon;
  bool tied;                       ///< whether the embeddings are the output's weights too
  std::string_view pre_tokenizer;  ///< GGUF's tokenizer.ggml.pre
};

struct SynthOptions {
  std::uint64_t seed = 1;
  /// Looked at before each 256 KiB; then the error is Code::stopped and no file is left.
  StopToken stop{};
  Progress progress{};
};

/// All shapes: those of real models, and small ones with few parameters for tests.
std::span<const SynthShape> synth_shapes() noexcept;

/// Writes a GGUF file with the shape of a real model and seeded random weights, so that speed can
/// be measured without the real one: it prints noise. The same shape, type and seed give the same
/// bytes. Weights have a standard deviation near 1 / sqrt(inputs), norms are near 1, so activations
/// stay finite. `type` is the name of a mix (models/mix.hpp); norms and biases are f32. Streams in
/// a few MiB of memory and the vocabulary. Errors: invalid_argument (lists the shapes, or the
/// types), those of GgufWriter.
Result<void> synth(std::string_view shape, std::string_view type, const std::string& out_path,
                   const SynthOptions& options = {});

}  // namespace tacet
