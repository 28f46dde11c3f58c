#include "models/families.hpp"
#include "models/layers/config_reader.hpp"
#include "models/layers/decoder.hpp"

namespace tacet::models {

namespace {

Result<Graph> build(const ModelConfig& config, const Weights& weights, const GraphClass& shape) {
  return layers::build_decoder(config, weights, shape, {.head_norm = true});
}

}  // namespace

/// Qwen3 (arXiv:2505.09388), dense.
constinit const Architecture qwen3 = {"qwen3", layers::read_decoder_config, build};

}  // namespace tacet::models
