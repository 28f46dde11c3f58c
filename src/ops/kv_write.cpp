#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"
#include "types/convert.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("kv_write", inputs, 2, 4);
  check.needs(inputs.size() != 3, "values where it has v");
  const std::size_t keys = inputs.size() / 2;
  check.is_matrix(keys, "keys");
  check.is_activation(0, "k", 0, check[keys].shape.elements());
  if (keys == 1) return check.gives({check[1]});
  check.is_matrix(3, "values", check[2].shape[0]);
  check.is_activation(1, "v", check[0].shape[0], check[3].shape.elements());
  return check.gives({check[2], check[3]});
}

Work work(const NodeView& node, RunShape run) {
  // Read as f32, written in the states' types; a conversion is about three operations.
  const std::size_t states = node.inputs.size() / 2;
  Work work;
  for (std::size_t i = 0; i < states; ++i) {
    work.bytes += bytes(node.inputs[i], run.rows) + run.rows * bytes(node.inputs[states + i]);
    work.operations += 3.0 * run.rows * static_cast<double>(node.inputs[i].shape[1]);
  }
  return work;
}

void write_head(DType type, const HostTensor& rows, std::size_t row, std::size_t head,
                std::size_t head_size, std::byte* to) {
  const auto values = load_row(rows, row);
  const std::vector<float> part(
      values.begin() + static_cast<std::ptrdiff_t>(head * head_size),
      values.begin() + static_cast<std::ptrdiff_t>((head + 1) * head_size));
  quantize(type, part, to);
}

void reference(const ReferenceCall& call) {
  const KvView& kv = *call.kv;
  const bool has_values = call.inputs.size() == 4;
  const std::uint32_t layer = call.inputs.back().layer;
  const KvLayer& state = kv.layers[layer];
  for (std::uint32_t r = 0; r < call.rows; ++r) {
    const KvSequence& sequence = kv.sequence_of(r);
    if (sequence.pages.empty()) continue;
    const std::uint32_t cell = sequence.cell_of(r);
    for (std::uint32_t h = 0; h < state.heads; ++h) {
      write_head(state.k_type, call.inputs[0], r, h, state.k_head_size,
                 kv.k_row(sequence, layer, h, cell));
      if (has_values)
        write_head(state.v_type, call.inputs[1], r, h, state.v_head_size,
                   kv.v_row(sequence, layer, h, cell));
    }
  }
}

}  // namespace

constinit const Op kv_write{
    .name = "kv_write", .infer = infer, .work = work, .reference = reference, .writes_state = true};

}  // namespace tacet::ops
