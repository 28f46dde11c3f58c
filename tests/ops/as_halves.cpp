#include "ops/as_halves.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cuda/attention/attention.hpp"
#include "backends/cuda/gemm/activations.hpp"
#include "ops/cases.hpp"
#include "ops/ops.hpp"
#include "ops/tile_reader.hpp"
#include "types/convert.hpp"

namespace tacet::op_tests {

namespace {

using namespace cuda;

/// The nearest half, with one rounding.
double to_half(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int last = std::max(std::ilogb(value), -14) - 10;
  return std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
}

double half_of(std::uint32_t bits) {
  return f16_to_f32(static_cast<std::uint16_t>(bits));
}

struct Scaling {
  double scale, min;
};

/// Those of a set of columns, with the factor of the row left out.
template <DType Type>
Scaling scaling_of(const RawChunk& raw, const TiledCode& at) {
  using F = TileFormat<Type>;
  const std::uint32_t word = raw.scales[at.p], more = raw.more[at.p];
  const Bytes4 bytes{word};
  if constexpr (F::scales == Scales::half || F::scales == Scales::half_min)
    return {half_of(word >> (16 * at.set) & 0xffffU),
            F::has_min ? half_of(more >> (16 * at.set) & 0xffffU) : 0};
  if constexpr (F::scales == Scales::exponent)
    return {to_half(std::ldexp(1.0, static_cast<int>(bytes.u8(at.set)) - 243)), 0};
  const double shared = half_of(more & 0xffffU);
  if constexpr (F::scales == Scales::k_min)
    return {to_half(shared * bytes.u8(at.set)),
            to_half(-half_of(more >> 16) * bytes.u8(2 + at.set))};
  if constexpr (F::scales == Scales::k_min_16)
    return {to_half(shared * (bytes.u8(at.set) & 15U)),
            to_half(-half_of(more >> 16) * (bytes.u8(at.set) >> 4))};
  return {to_half(shared * bytes.i8(at.set)), 0};
}

std::vector<float> activations_as_halves(std::span<const float> x, std::size_t columns) {
  std::vector<float> rounded(x.begin(), x.end());
  const auto chunks = static_cast<std::uint32_t>(chunks_of(columns));
  for (std::size_t row = 0; row < x.size(); row += columns)
    for (std::uint32_t slice = 0; slice < slices; ++slice) {
      const std::size_t begin = slice_begin(chunks, slice) * std::size_t{64};
      const std::size_t end = std::min(columns, slice_begin(chunks, slice + 1) * std::size_t{64});
      const auto part = std::span(rounded).subspan(row).first(end).subspan(std::min(begin, end));
      float largest = 0;
      for (const float value : part) largest = std::max(largest, std::abs(value));
      if (largest == 0) continue;
      const int up = 13 - std::ilogb(largest);
      for (float& value : part)
        value = static_cast<float>(
            std::ldexp(to_half(std::ldexp(static_cast<double>(value), up)), -up));
    }
  return rounded;
}

}  // namespace

std::vector<float> weights_as_halves(const Input& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.type.shape.rows());
  const auto columns = static_cast<std::uint32_t>(matrix.type.shape.width());
  const DType type = matrix.type.dtype;
  std::vector<float> values(rows * columns);
  std::vector<std::byte> tiles(tiled_bytes(type, tile_rows, columns));
  const std::byte* factors = tiles.data() + tiles.size() - factor_bytes;
  for (std::size_t group = 0; group * tile_rows < rows; ++group) {
    tile_group(type, matrix.bytes.data(), rows, columns, group, tiles.data());
    with_tiled_type(type, [&]<DType Type>() {
      visit_tiles<Type>(tiles.data(), columns, [&](const RawChunk& raw, const TiledCode& at) {
        const std::size_t row = group * tile_rows + at.row;
        if (row >= rows) return;
        const auto [scale, min] = scaling_of<Type>(raw, at);
        const double factor = load_as<float>(factors + std::size_t{at.row} * 4);
        values[row * columns + at.column] =
            static_cast<float>(to_half(at.code * scale + min) * factor);
      });
    });
  }
  return values;
}

namespace {

/// Keys or values as a device reads them that makes halves of codes.
void round_to_halves(DType type, const std::byte* from, std::size_t size, std::byte* to) {
  std::vector<float> values(size);
  dequantize(type, from, values);
  for (float& value : values) value = static_cast<float>(to_half(value));
  quantize(DType::f16, values, to);
}

/// The memory behind a run that left `bytes` in it, with all of it in halves.
KvMemory kept_as_halves(const KvMemory& memory, std::span<const std::byte> bytes) {
  KvMemory before = memory;
  std::ranges::copy(bytes, before.bytes.begin());
  KvShape shape = memory.shape;
  shape.k_type = shape.v_type = DType::f16;
  const auto pages = static_cast<std::uint32_t>(memory.bytes.size() / memory.page_bytes);
  const std::uint32_t cells = pages * shape.page_tokens;
  KvMemory after(shape, cells - shape.page_tokens);
  after.rows = memory.rows;
  after.positions = memory.positions;
  after.unseen_pages = memory.unseen_pages;
  after.has_cells = memory.has_cells;
  const auto old_pages = before.pages(before.bytes.data());
  const auto new_pages = after.pages(after.bytes.data());
  const KvSequence from{.end = cells, .pages = old_pages}, to{.end = cells, .pages = new_pages};
  const KvView old_view{{&from, 1}, before.layers, shape.page_tokens};
  const KvView new_view{{&to, 1}, after.layers, shape.page_tokens};
  for (std::uint32_t cell = 0; cell < cells; ++cell)
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      round_to_halves(memory.shape.k_type, old_view.k_row(from, KvMemory::layer, head, cell),
                      shape.k_size, new_view.k_row(to, KvMemory::layer, head, cell));
      if (shape.v_size == 0) continue;
      round_to_halves(memory.shape.v_type, old_view.v_row(from, KvMemory::layer, head, cell),
                      shape.v_size, new_view.v_row(to, KvMemory::layer, head, cell));
    }
  return after;
}

/// Whether the last node is a product with weights in a type with blocks.
bool has_coded_product(const Problem& problem) {
  const Step& last = problem.steps.back();
  if (last.op != &ops::matmul && last.op != &ops::matmul3 && last.op != &ops::up_gate) return false;
  return std::any_of(last.inputs.begin(), last.inputs.end(),
                     [](const Input& input) { return info(input.type.dtype).block_size > 1; });
}

/// Whether it is attention to keys or values in such a type, of a size for tensor cores.
bool has_coded_keys(const Problem& problem) {
  const Step& last = problem.steps.back();
  if (last.op != &ops::attention) return false;
  bool any = false;
  for (const Input& input : last.inputs) {
    if (input.kind != Input::Kind::keys && input.kind != Input::Kind::values) continue;
    const bool coded = info(input.type.dtype).block_size > 1;
    if (!coded && input.type.dtype != DType::f16) return false;
    if (input.type.shape.width() % 8 != 0 || input.type.shape.width() > most_half_size)
      return false;
    any = any || coded;
  }
  return any;
}

/// The attention alone, with all that is kept in f16.
Problem attention_as_halves(Problem problem) {
  const std::vector<std::byte> bytes = reference(problem).kv;
  std::size_t at = 0;
  for (KvMemory& memory : problem.kv) {
    const std::size_t size = memory.bytes.size();
    memory = kept_as_halves(memory, std::span(bytes).subspan(at, size));
    at += size;
  }
  problem.steps.erase(problem.steps.begin(), problem.steps.end() - 1);
  for (Input& input : problem.steps.back().inputs)
    if (input.kind == Input::Kind::keys || input.kind == Input::Kind::values)
      input.type.dtype = DType::f16;
  return problem;
}

/// The product with weights in f32 that are those of the device, and with activations of halves.
Problem product_as_halves(Problem problem) {
  const auto replace = [](Input& input, std::span<const float> values) {
    input.type.dtype = DType::f32;
    input.bytes.resize(values.size_bytes());
    std::memcpy(input.bytes.data(), values.data(), values.size_bytes());
  };
  for (Input& input : problem.steps.back().inputs) {
    if (info(input.type.dtype).block_size > 1) {
      replace(input, weights_as_halves(input));
    } else if (input.kind == Input::Kind::by_row) {
      const std::vector<float> x(
          reinterpret_cast<const float*>(input.bytes.data()),
          reinterpret_cast<const float*>(input.bytes.data()) + input.bytes.size() / sizeof(float));
      replace(input, activations_as_halves(x, static_cast<std::size_t>(input.type.shape.width())));
    }
  }
  return problem;
}

}  // namespace

std::optional<InHalves> in_halves(const Problem& problem, const Tolerance& tolerance) {
  if (has_coded_product(problem))
    return InHalves{.expected = reference(product_as_halves(problem)),
                    .tolerance = {.of_row = std::min(tolerance.of_row, f32_sums.of_row),
                                  .of_element = tolerance.of_element},
                    .rough = half_weights};
  if (!has_coded_keys(problem)) return std::nullopt;
  Outcome expected = reference(attention_as_halves(problem));
  expected.kv = reference(problem).kv;
  return InHalves{.expected = std::move(expected),
                  .tolerance = tolerance,
                  .rough = {.of_row = half_keys * tolerance.of_row}};
}

}  // namespace tacet::op_tests
