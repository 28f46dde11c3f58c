#pragma once

#include <span>
#include <string_view>

#include "graph/builder.hpp"
#include "models/weights.hpp"

namespace tacet {

/// The numbers of a decoder-only transformer, as the metadata of a file gives them.
struct ModelConfig {
  std::string architecture;
  std::uint32_t layers = 0;
  std::uint32_t context_length = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t width = 0;
  std::uint32_t hidden = 0;  ///< width of the feed-forward
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t k_head_size = 0;
  std::uint32_t v_head_size = 0;
  std::uint32_t rope_size = 0;  ///< rotated elements of a head
  float rope_base = 10000;
  float rope_scale = 1;      ///< positions are multiplied by it
  float rope_low = 0;        ///< the pairs between which YaRN goes over from unscaled positions:
  float rope_high = 0;       ///< ops::RopeTableAttributes
  float rope_magnitude = 1;  ///< of rotated queries and keys
  float epsilon = 1e-5F;
};

/// What a graph is built for.
struct GraphClass {
  std::uint32_t rows = 1;
  std::uint32_t outputs = 1;
  std::uint32_t max_keys = 1;
  std::uint32_t window = 0;  ///< tokens that a token sees; 0: all before it
  DType k_type = DType::f16;
  DType v_type = DType::f16;
};

/// A family of models that this build can run.
struct Architecture {
  std::string_view name;  ///< `general.architecture`
  Result<ModelConfig> (*configure)(const Gguf& file);
  Result<Graph> (*build)(const ModelConfig& config, const Weights& weights,
                         const GraphClass& shape);
};

/// The families, in src/models/registry.cpp.
std::span<const Architecture> architectures() noexcept;

/// The family of a file; Code::unsupported names it and those that are known.
Result<const Architecture*> architecture_of(const Gguf& file);

}  // namespace tacet
