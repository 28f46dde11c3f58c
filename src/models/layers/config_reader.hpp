#pragma once

#include "models/architecture.hpp"

namespace tacet::layers {

/// Reads and checks the keys that all decoder-only transformers share (`<architecture>.block_count`
/// and so on). Errors name the key.
Result<ModelConfig> read_decoder_config(const Gguf& file);

}  // namespace tacet::layers
