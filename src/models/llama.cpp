#include "models/families.hpp"
#include "models/layers/config_reader.hpp"
#include "models/layers/decoder.hpp"

namespace tacet::models {

namespace {

Result<Graph> build(const ModelConfig& config, const Weights& weights, const GraphClass& shape) {
  return layers::build_decoder(config, weights, shape, {.interleaved_rope = true});
}

}  // namespace

/// Llama 1 to 3 (arXiv:2302.13971, arXiv:2407.21783) and what shares its form. Llama 3's rope
/// scaling is in the file as rope_freqs.weight.
constinit const Architecture llama = {"llama", layers::read_decoder_config, build};

}  // namespace tacet::models
