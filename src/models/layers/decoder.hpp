#pragma once

#include "models/architecture.hpp"

namespace tacet::layers {

/// What differs between the families of decoder-only transformers.
struct DecoderOptions {
  bool interleaved_rope = false;  ///< pairs (2i, 2i+1), as Llama's files are laid out
  bool head_norm = false;         ///< queries and keys are normed per head before rope (Qwen3)
};

/// Builds a pre-norm transformer (RMSNorm, rotary embeddings, grouped-query attention, SwiGLU) up
/// to the logits of the output rows. Any product may have a bias. Errors name the weight that is
/// missing or misshapen, or that the file has but this does not use (`unsupported`).
Result<Graph> build_decoder(const ModelConfig& config, const Weights& weights,
                            const GraphClass& shape, const DecoderOptions& options);

}  // namespace tacet::layers
