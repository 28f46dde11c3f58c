#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto a = attributes.as<AttentionAttributes>();
  InputCheck check("attention", inputs, 3, 4);
  check.is_matrix(1, "keys");
  const std::int64_t kv_heads = check[1].shape[0];
  const std::int64_t k_size = check[1].shape[1];
  check.needs(kv_heads > 0 && a.heads > 0 && a.heads % kv_heads == 0,
              fmt::format("heads that are a multiple of the {} heads of the keys, not {}", kv_heads,
                          a.heads));
  if (a.values_in_keys == 0) {
    check.is_matrix(2, "values", kv_heads);
  } else {
    check.needs(
        a.values_in_keys > 0 && a.values_in_keys <= k_size,
        fmt::format("1 to {} elements of a key as values, not {}", k_size, a.values_in_keys));
    check.needs(check[2] == check[1], "the keys as values");
  }
  check.needs(std::isfinite(a.scale), fmt::format("a finite scale, not {}", a.scale));
  check.needs(a.max_keys > 0, fmt::format("at least 1 as the most keys, not {}", a.max_keys));
  check.needs(a.softcap >= 0 && std::isfinite(a.softcap),
              fmt::format("a softcap of at least 0, not {}", a.softcap));
  check.needs(a.max_bias >= 0 && std::isfinite(a.max_bias),
              fmt::format("a largest bias of at least 0, not {}", a.max_bias));
  check.needs(a.window >= 0, fmt::format("a window of at least 0, not {}", a.window));
  check.is_activation(0, "q", 0, a.heads * k_size);
  if (inputs.size() == 4) check.is_vector(3, "sinks", DType::f32, a.heads);
  return check.gives({activation(check[0].shape[0], a.heads * a.v_size(check[2].shape[1]))});
}

Work work(const NodeView& node, RunShape run) {
  const auto a = node.attributes->as<AttentionAttributes>();
  const auto k_size = static_cast<double>(node.inputs[1].shape[1]);
  const auto v_size = static_cast<double>(a.v_size(node.inputs[2].shape[1]));
  const double window = a.window == 0 ? run.keys : a.window;
  // Each row sees one key more than the row before it, up to the window.
  const double most = a.causal ? run.keys - (run.rows - 1.0) / 2 : run.keys;
  const double pairs = run.rows * std::max(1.0, std::min(most, window));
  const double keys = std::min<double>(run.keys, window + run.rows - 1.0);
  // An exponential is about ten multiplications and additions.
  return {.bytes = bytes(node.inputs[0], run.rows) + bytes(node.outputs[0], run.rows) +
                   keys * (bytes(node.inputs[1]) +
                           (a.values_in_keys == 0 ? bytes(node.inputs[2]) : 0.0)),
          .operations = pairs * a.heads * (2 * k_size + 2 * v_size + 12)};
}

bool sees(const AttentionAttributes& a, const KvSequence& sequence, std::uint32_t row,
          std::uint32_t cell) {
  if (sequence.pages.empty() || cell >= sequence.cells()) return false;
  const std::uint32_t own = sequence.cell_of(row);
  if (a.causal && cell > own) return false;
  const std::int64_t distance =
      std::int64_t{sequence.position_of(own)} - sequence.position_of(cell);
  return a.window == 0 || distance < a.window;
}

/// One head of the keys and values, as one row sees them.
struct Seen {
  const KvView& kv;
  const KvSequence& sequence;
  std::uint32_t layer, head;
  std::vector<std::uint32_t> cells;
  std::int32_t position;  ///< of the query
};

/// The output of one head of one row. A sink is one more score, without a value.
std::vector<double> attend(const AttentionAttributes& a, std::span<const double> query,
                           const Seen& seen, std::size_t v_size, double slope, const double* sink) {
  const KvLayer& state = seen.kv.layers[seen.layer];
  const auto key = [&](std::uint32_t cell) {
    return load_row(state.k_type, seen.kv.k_row(seen.sequence, seen.layer, seen.head, cell),
                    state.k_head_size);
  };
  std::vector<double> scores;
  for (const std::uint32_t cell : seen.cells) {
    double score = double{a.scale} * dot(query, key(cell));
    if (a.softcap != 0) score = double{a.softcap} * std::tanh(score / double{a.softcap});
    const std::int64_t distance = std::int64_t{seen.position} - seen.sequence.position_of(cell);
    score -= slope * static_cast<double>(std::abs(distance));
    scores.push_back(score);
  }
  std::vector<double> output(v_size);
  double largest = scores.empty() ? -HUGE_VAL : *std::max_element(scores.begin(), scores.end());
  if (largest == -HUGE_VAL) return output;
  if (sink != nullptr) largest = std::max(largest, *sink);
  double sum = sink != nullptr ? std::exp(*sink - largest) : 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (std::size_t n = 0; n < scores.size(); ++n) {
    const std::uint32_t cell = seen.cells[n];
    const auto value =
        a.values_in_keys != 0
            ? key(cell)
            : load_row(state.v_type, seen.kv.v_row(seen.sequence, seen.layer, seen.head, cell),
                       v_size);
    for (std::size_t i = 0; i < v_size; ++i) output[i] += scores[n] / sum * value[i];
  }
  return output;
}

void reference(const ReferenceCall& call) {
  const auto a = call.attributes.as<AttentionAttributes>();
  const KvView& kv = *call.kv;
  const std::uint32_t layer = call.inputs[1].layer;
  const auto heads = static_cast<std::uint32_t>(a.heads);
  const std::uint32_t heads_per_kv = heads / kv.layers[layer].heads;
  const std::size_t k_size = kv.layers[layer].k_head_size;
  const auto v_size = static_cast<std::size_t>(a.v_size(call.inputs[2].type.shape[1]));
  const auto sinks = call.inputs.size() == 4 ? load_row(call.inputs[3], 0) : std::vector<double>();
  for (std::uint32_t r = 0; r < call.rows; ++r) {
    const auto row = load_row(call.inputs[0], r);
    const KvSequence& sequence = kv.sequence_of(r);
    Seen seen{kv, sequence, layer, 0, {}, 0};
    for (std::uint32_t cell = 0; cell < sequence.cells(); ++cell)
      if (sees(a, sequence, r, cell)) seen.cells.push_back(cell);
    if (!seen.cells.empty()) seen.position = sequence.position_of(sequence.cell_of(r));
    std::vector<double> output;
    for (std::uint32_t h = 0; h < heads; ++h) {
      seen.head = h / heads_per_kv;
      const double slope = a.max_bias == 0 ? 0 : alibi_slope(double{a.max_bias}, heads, h);
      const auto head = attend(a, std::span(row).subspan(h * k_size, k_size), seen, v_size, slope,
                               sinks.empty() ? nullptr : &sinks[h]);
      output.insert(output.end(), head.begin(), head.end());
    }
    store_row(output, call.outputs[0], r);
  }
}

}  // namespace

double alibi_slope(double max_bias, std::uint32_t heads, std::uint32_t head) noexcept {
  const std::uint32_t power = std::bit_floor(heads);
  const double exponent = head < power ? (head + 1.0) / power : (head - power + 0.5) / power;
  return std::exp2(-max_bias * exponent);
}

constinit const Op attention{
    .name = "attention", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
