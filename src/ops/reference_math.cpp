#include "ops/reference_math.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "types/convert.hpp"

namespace tacet::ops {

std::vector<double> load_row(DType type, const void* data, std::size_t elements) {
  std::vector<float> floats(elements);
  dequantize(type, data, floats);
  return {floats.begin(), floats.end()};
}

std::vector<double> load_row(const HostTensor& tensor, std::size_t row) {
  const auto width = static_cast<std::size_t>(tensor.type.shape.width());
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return load_row(tensor.type.dtype, data + row * row_bytes(tensor.type.dtype, width), width);
}

std::int32_t load_index(const HostTensor& tensor, std::size_t i) {
  std::int32_t index;
  std::memcpy(&index, static_cast<const std::byte*>(tensor.data) + i * sizeof(index),
              sizeof(index));
  return index;
}

std::size_t clamp_index(std::int32_t index, std::size_t count) noexcept {
  return index < 0 ? 0 : std::min(static_cast<std::size_t>(index), count - 1);
}

void store_row(std::span<const double> values, std::span<float> output, std::size_t row) {
  std::transform(values.begin(), values.end(), output.subspan(row * values.size()).begin(),
                 [](double value) { return static_cast<float>(value); });
}

double dot(std::span<const double> a, std::span<const double> b) noexcept {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double swish(double x) noexcept {
  return x / (1 + std::exp(-x));
}

std::vector<std::vector<double>> product(const HostTensor& weight, const HostTensor& x,
                                         const HostTensor* bias, std::size_t rows) {
  const auto width = static_cast<std::size_t>(weight.type.shape[0]);
  std::vector<std::vector<double>> inputs(rows), outputs(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    inputs[r] = load_row(x, r);
    outputs[r] = bias == nullptr ? std::vector<double>(width) : load_row(*bias, 0);
  }
  for (std::size_t n = 0; n < width; ++n) {
    const auto weights = load_row(weight, n);
    for (std::size_t r = 0; r < rows; ++r) outputs[r][n] += dot(weights, inputs[r]);
  }
  return outputs;
}

void normalize(std::span<double> row, std::span<const double> weight, std::size_t groups,
               double epsilon) {
  const std::size_t size = row.size() / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto part = row.subspan(g * size, size);
    const double root = std::sqrt(dot(part, part) / static_cast<double>(size) + epsilon);
    for (std::size_t i = 0; i < size; ++i) part[i] = part[i] / root * weight[i];
  }
}

void rotate(std::span<double> row, std::span<const double> table, std::size_t heads,
            bool interleaved) {
  const std::size_t head_size = row.size() / heads;
  const std::size_t pairs = table.size() / 2;
  for (std::size_t h = 0; h < heads; ++h) {
    const auto head = row.subspan(h * head_size, head_size);
    for (std::size_t i = 0; i < pairs; ++i) {
      double& a = interleaved ? head[2 * i] : head[i];
      double& b = interleaved ? head[2 * i + 1] : head[i + pairs];
      const double cosine = table[i];
      const double sine = table[pairs + i];
      const double rotated = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = rotated;
    }
  }
}

}  // namespace tacet::ops
