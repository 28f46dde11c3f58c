#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op.hpp"

namespace tacet::op_tests {

/// Seeded numbers, the same on every machine. Never a pattern: a wrong index has to show.
class Random {
 public:
  explicit Random(std::string_view seed) noexcept;

  std::uint64_t next() noexcept;
  /// 0 to 1.
  double uniform() noexcept;
  /// About normal, of deviation 1.
  float normal() noexcept;
  /// `count` normal numbers times `scale`.
  std::vector<float> normals(std::size_t count, double scale = 1);

 private:
  std::uint64_t state_;
};

/// An input of a node.
struct Input {
  enum class Kind {
    constant,     ///< one value for all rows
    by_row,       ///< row r belongs to row r of the run
    tokens,       ///< of the run
    positions,    ///< of the run
    output_rows,  ///< of the run
    keys,         ///< the state of the problem's KV memory
    values,
  };
  Kind kind = Kind::constant;
  ValueType type;
  std::vector<std::byte> bytes{};

  const void* data() const noexcept { return bytes.empty() ? nullptr : bytes.data(); }
};

/// {rows, width} of `type`: normal numbers times `scale`, or for a type with blocks blocks of
/// random bits whose numbers have about that deviation.
Input matrix(Random& random, DType type, std::int64_t rows, std::int64_t width, double scale = 1);
/// f32 {length}.
Input vector(Random& random, std::int64_t length, double scale = 1);
/// An activation of normal numbers times `scale`.
Input rows_of(Random& random, std::int64_t rows, std::int64_t width, double scale = 1);
/// An activation with these values.
Input rows_of(std::int64_t rows, std::int64_t width, std::span<const float> values);
/// An activation that Q8_0 holds without loss: in each 32 elements, whole numbers up to 127 times a
/// power of two. Kernels may round activations to Q8_0; on these they have no excuse.
Input q8_rows(Random& random, std::int64_t rows, std::int64_t width);
/// An activation of normal numbers times `scale` that BF16 holds, for kernels that round to it.
Input bf16_rows(Random& random, std::int64_t rows, std::int64_t width, double scale = 1);
/// Tokens, positions or output rows.
Input indices(Input::Kind kind, std::span<const std::int32_t> values);

/// Rows `first` to `first + count - 1` of an input that has a row for each row of the run.
Input slice(const Input& input, std::int64_t first, std::int64_t count);
/// The same with `count` more rows, which nobody may use: not numbers, or indices out of range.
Input with_spare_rows(const Input& input, std::int64_t count);

}  // namespace tacet::op_tests
