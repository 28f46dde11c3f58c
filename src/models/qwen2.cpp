#include "models/families.hpp"
#include "models/layers/config_reader.hpp"
#include "models/layers/decoder.hpp"

namespace tacet::models {

namespace {

Result<Graph> build(const ModelConfig& config, const Weights& weights, const GraphClass& shape) {
  return layers::build_decoder(config, weights, shape, {.attention_bias = true});
}

}  // namespace

/// Qwen2 and Qwen2.5 (arXiv:2407.10671).
constinit const Architecture qwen2 = {"qwen2", layers::read_decoder_config, build};

}  // namespace tacet::models
