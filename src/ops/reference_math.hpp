#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/op.hpp"

/// What the references of several ops share, in double precision.
namespace tacet::ops {

/// Row `row` of a tensor of any float type.
std::vector<double> load_row(const HostTensor& tensor, std::size_t row);

/// A row of `elements` of `type`, at `data`.
std::vector<double> load_row(DType type, const void* data, std::size_t elements);

/// Element `i` of an i32 vector.
std::int32_t load_index(const HostTensor& tensor, std::size_t i);

/// `index` clamped to 0 .. count - 1.
std::size_t clamp_index(std::int32_t index, std::size_t count) noexcept;

/// Rounds `values` to row `row` of an output.
void store_row(std::span<const double> values, std::span<float> output, std::size_t row);

double dot(std::span<const double> a, std::span<const double> b) noexcept;

/// x / (1 + exp(-x))
double swish(double x) noexcept;

/// The first `rows` rows of x weight^T + bias, each of as many elements as the weight has rows.
/// `bias` may be null.
std::vector<std::vector<double>> product(const HostTensor& weight, const HostTensor& x,
                                         const HostTensor* bias, std::size_t rows);

/// Divides each of `groups` equal parts of `row` by its root mean square and multiplies it with
/// `weight`.
void normalize(std::span<double> row, std::span<const double> weight, std::size_t groups,
               double epsilon);

/// Rotates the first `table.size()` elements of each head of `row`.
void rotate(std::span<double> row, std::span<const double> table, std::size_t heads,
            bool interleaved);

}  // namespace tacet::ops
