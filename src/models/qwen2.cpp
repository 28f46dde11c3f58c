#include "models/families.hpp"
#include "models/layers/config_reader.hpp"
#include "models/layers/decoder.hpp"

namespace tacet::models {

namespace {

Result<Graph> build(const ModelConfig& config, const Weights& weights, const GraphClass& shape) {
  return layers::build_decoder(config, weights, shape, {});
}

}  // namespace

/// Qwen2 and Qwen2.5 (arXiv:2407.10671): queries, keys and values have biases.
constinit const Architecture qwen2 = {"qwen2", layers::read_decoder_config, build};

}  // namespace tacet::models
