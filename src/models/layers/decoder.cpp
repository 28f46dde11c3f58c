#include "models/layers/decoder.hpp"

#include <cmath>
#include <set>

#include "ops/ops.hpp"

namespace tacet::layers {

namespace {

/// Builds one graph: the weights by name, and the parts of a layer.
class DecoderBuilder {
 public:
  DecoderBuilder(const ModelConfig& config, const Weights& weights, const GraphClass& shape,
                 const DecoderOptions& options)
      : config_(config),
        weights_(weights),
        shape_(shape),
        options_(options),
        graph_(shape.rows, shape.outputs) {}

  Result<Graph> build() {
    const ValueId table = weight("token_embd.weight", {config_.vocabulary, config_.width});
    ValueId x = graph_.add(ops::embed, "embed", {table, graph_.tokens()});
    rope_table_ = graph_.add(
        ops::rope_table, "rope_table",
        {graph_.positions(), optional_weight("rope_freqs.weight", {config_.rope_size / 2})},
        Attributes(ops::RopeTableAttributes{
            config_.rope_base, static_cast<std::int32_t>(config_.rope_size), config_.rope_scale,
            config_.rope_low, config_.rope_high, config_.rope_magnitude}));
    for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
      prefix_ = fmt::format("blk.{}.", layer);
      graph_.begin_layer(x);
      ValueId attended = attention(norm(x, "attn_norm"), layer);
      if (layer + 1 == config_.layers) {
        // Behind the last attention only the rows whose logits are asked for matter.
        attended =
            graph_.add(ops::select_rows, prefix_ + "attn_rows", {attended, graph_.output_rows()});
        x = graph_.add(ops::select_rows, prefix_ + "rows", {x, graph_.output_rows()});
      }
      const ValueId output =
          product("attn_output", attended, config_.width, config_.heads * config_.v_head_size);
      x = graph_.add(ops::add, prefix_ + "attn_residual", {output, x});
      x = graph_.add(ops::add, prefix_ + "ffn_residual", {feed_forward(norm(x, "ffn_norm")), x});
    }
    prefix_.clear();
    x = norm(x, "output_norm");
    ValueId head = optional_weight("output.weight", {config_.vocabulary, config_.width});
    if (head == ValueId::none) head = table;  // tied embeddings
    refuse_unused();
    return graph_.finish(graph_.add(ops::matmul, "output", {head, x}));
  }

 private:
  /// A weight that the file has but the graph does not use means another model than this one.
  void refuse_unused() {
    for (const auto& [name, entry] : weights_) {
      // Angles that some converters leave in the file; they follow from the metadata.
      if (used_.contains(name) || name.ends_with(".attn_rot_embd.weight") ||
          name.ends_with(".rotary_emb.inv_freq"))
        continue;
      graph_.fail(Error(Code::unsupported,
                        fmt::format("The file has the tensor {}, which models of the architecture "
                                    "{} have no use for in this build; use another model.",
                                    quoted(name), quoted(config_.architecture))));
      return;
    }
  }

  ValueId optional_weight(const std::string& name, Shape shape) {
    used_.insert(name);
    const auto found = weights_.find(name);
    if (!found) graph_.fail(found.error());
    if (!found || *found == nullptr) return ValueId::none;
    if (!((*found)->type.shape == shape)) {
      graph_.fail(
          Error(Code::corrupt,
                fmt::format("{} has the shape {}; it should be {}, convert the model again.", name,
                            to_string((*found)->type.shape), to_string(shape))));
      return ValueId::none;
    }
    return graph_.weight(name, (*found)->type, (*found)->data);
  }

  ValueId weight(const std::string& name, Shape shape) {
    const ValueId id = optional_weight(name, shape);
    if (id == ValueId::none)
      graph_.fail(
          Error(Code::corrupt, fmt::format("The file has no {}; use a complete model.", name)));
    return id;
  }

  ValueId norm(ValueId x, const std::string& name) {
    return graph_.add(ops::rms_norm, prefix_ + name,
                      {x, weight(prefix_ + name + ".weight", {config_.width})},
                      Attributes(ops::NormAttributes{config_.epsilon, 1}));
  }

  /// With the bias that the file has.
  ValueId product(const std::string& name, ValueId x, std::int64_t out, std::int64_t in) {
    const ValueId w = weight(prefix_ + name + ".weight", {out, in});
    const ValueId b = optional_weight(prefix_ + name + ".bias", {out});
    return graph_.add(ops::matmul, prefix_ + name, {w, x, b});
  }

  ValueId rotate(ValueId x, const std::string& name, std::uint32_t heads) {
    if (options_.head_norm)
      x = graph_.add(
          ops::rms_norm, prefix_ + name + "_norm",
          {x, weight(prefix_ + name + "_norm.weight", {config_.k_head_size})},
          Attributes(ops::NormAttributes{config_.epsilon, static_cast<std::int32_t>(heads)}));
    return graph_.add(ops::rope, prefix_ + name + "_rope", {x, rope_table_},
                      Attributes(ops::RopeAttributes{static_cast<std::int32_t>(heads),
                                                     options_.interleaved_rope}));
  }

  ValueId attention(ValueId x, std::uint32_t layer) {
    const ValueId q = product("attn_q", x, config_.heads * config_.k_head_size, config_.width);
    const ValueId k = product("attn_k", x, config_.kv_heads * config_.k_head_size, config_.width);
    const ValueId v = product("attn_v", x, config_.kv_heads * config_.v_head_size, config_.width);
    const ValueId queries = rotate(q, "attn_q", config_.heads);
    const ValueId keys = rotate(k, "attn_k", config_.kv_heads);
    const ValueId k_state =
        graph_.state(prefix_ + "k", shape_.k_type, config_.kv_heads, config_.k_head_size, layer);
    const ValueId v_state =
        graph_.state(prefix_ + "v", shape_.v_type, config_.kv_heads, config_.v_head_size, layer);
    const ValueId inputs[] = {keys, v, k_state, v_state};
    const auto states = graph_.add_all(ops::kv_write, prefix_ + "kv_write", inputs);
    if (states.size() != 2) return ValueId::none;
    const ops::AttentionAttributes attributes{
        .heads = static_cast<std::int32_t>(config_.heads),
        .scale = 1 / std::sqrt(static_cast<float>(config_.k_head_size)),
        .max_keys = static_cast<std::int32_t>(shape_.max_keys),
        .window = static_cast<std::int32_t>(shape_.window)};
    return graph_.add(ops::attention, prefix_ + "attention", {queries, states[0], states[1]},
                      Attributes(attributes));
  }

  ValueId feed_forward(ValueId x) {
    const ValueId gate = product("ffn_gate", x, config_.hidden, config_.width);
    const ValueId up = product("ffn_up", x, config_.hidden, config_.width);
    const ValueId activated = graph_.add(ops::silu, prefix_ + "ffn_silu", {gate});
    const ValueId hidden = graph_.add(ops::mul, prefix_ + "ffn_mul", {activated, up});
    return product("ffn_down", hidden, config_.width, config_.hidden);
  }

  const ModelConfig& config_;
  const Weights& weights_;
  const GraphClass& shape_;
  const DecoderOptions& options_;
  GraphBuilder graph_;
  std::set<std::string> used_;
  std::string prefix_;
  ValueId rope_table_ = ValueId::none;
};

}  // namespace

Result<Graph> build_decoder(const ModelConfig& config, const Weights& weights,
                            const GraphClass& shape, const DecoderOptions& options) {
  return DecoderBuilder(config, weights, shape, options).build();
}

}  // namespace tacet::layers
