#include <algorithm>
#include <cmath>

#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto [heads, scale, max_keys] = attributes.as<AttentionAttributes>();
  InputCheck check("attention", inputs, 3, 3);
  check.is_matrix(1, "keys");
  check.is_matrix(2, "values", check[1].shape[0]);
  const std::int64_t kv_heads = check[1].shape[0];
  check.needs(kv_heads > 0 && heads > 0 && heads % kv_heads == 0,
              fmt::format("heads that are a multiple of the {} heads of the keys, not {}", kv_heads,
                          heads));
  check.needs(std::isfinite(scale), fmt::format("a finite scale, not {}", scale));
  check.needs(max_keys > 0, fmt::format("at least 1 as the most keys, not {}", max_keys));
  check.is_activation(0, "q", 0, heads * check[1].shape[1]);
  return check.gives({activation(check[0].shape[0], heads * check[2].shape[1])});
}

Work work(const NodeView& node, RunShape run) {
  const auto heads = static_cast<double>(node.attributes->as<AttentionAttributes>().heads);
  const auto k_size = static_cast<double>(node.inputs[1].shape[1]);
  const auto v_size = static_cast<double>(node.inputs[2].shape[1]);
  // Each row sees one key more than the row before it.
  const double pairs = run.rows * std::max(1.0, run.keys - (run.rows - 1.0) / 2);
  // An exponential is about ten multiplications and additions.
  return {.bytes = bytes(node.inputs[0], run.rows) + bytes(node.outputs[0], run.rows) +
                   run.keys * (bytes(node.inputs[1]) + bytes(node.inputs[2])),
          .operations = pairs * heads * (2 * k_size + 2 * v_size + 12)};
}

// The output of one head of one row, which sees the cells 0 to `last`.
std::vector<double> attend(std::span<const double> query, const KvView& kv, std::uint32_t layer,
                           std::uint32_t kv_head, std::uint32_t last, double scale) {
  const KvLayer& state = kv.layers[layer];
  std::vector<double> scores(last + 1);
  for (std::uint32_t cell = 0; cell <= last; ++cell)
    scores[cell] = scale * dot(query, load_row(state.k_type, kv.k_row(layer, kv_head, cell),
                                               state.k_head_size));
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);

  std::vector<double> output(state.v_head_size);
  for (std::uint32_t cell = 0; cell <= last; ++cell) {
    const auto value = load_row(state.v_type, kv.v_row(layer, kv_head, cell), state.v_head_size);
    for (std::size_t i = 0; i < output.size(); ++i) output[i] += scores[cell] / sum * value[i];
  }
  return output;
}

void reference(const ReferenceCall& call) {
  const auto attributes = call.attributes.as<AttentionAttributes>();
  const KvView& kv = *call.kv;
  const std::uint32_t layer = call.inputs[1].layer;
  const KvLayer& state = kv.layers[layer];
  const auto query_heads = static_cast<std::uint32_t>(attributes.heads);
  const std::uint32_t heads_per_kv = query_heads / state.heads;
  for (std::uint32_t r = 0; r < call.rows; ++r) {
    const auto row = load_row(call.inputs[0], r);
    std::vector<double> output;
    for (std::uint32_t h = 0; h < query_heads; ++h) {
      const auto query = std::span(row).subspan(h * state.k_head_size, state.k_head_size);
      const auto head = attend(query, kv, layer, h / heads_per_kv, kv.past + r, attributes.scale);
      output.insert(output.end(), head.begin(), head.end());
    }
    store_row(output, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op attention{
    .name = "attention", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
