#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.hpp"

namespace tacet::ops {

/// "f16 [896, 896]"
std::string describe(const ValueType& type);

/// The type of an activation: f32 {rows, width}.
ValueType activation(std::int64_t rows, std::int64_t width);

/// The checks of a shape rule, in order. The first one that does not hold becomes the result; the
/// later ones do nothing, so that a rule reads as a list of what it needs.
class InputCheck {
 public:
  /// Needs `least` to `most` inputs.
  InputCheck(std::string_view op, std::span<const ValueType> inputs, std::size_t least,
             std::size_t most);

  /// Input `i`; an empty type where there is none.
  const ValueType& operator[](std::size_t i) const noexcept;

  /// Input `i` is f32 {rows, width}; 0: any.
  void is_activation(std::size_t i, std::string_view name, std::int64_t rows = 0,
                     std::int64_t width = 0);
  /// Input `i` is a matrix {rows, width} of a weight type whose rows are whole blocks; 0: any.
  void is_matrix(std::size_t i, std::string_view name, std::int64_t rows = 0,
                 std::int64_t width = 0);
  /// Input `i` is `dtype` {length}; 0: any.
  void is_vector(std::size_t i, std::string_view name, DType dtype, std::int64_t length = 0);
  /// Any other condition; `needed` goes on after "needs": "heads that divide 896, not 3".
  void needs(bool condition, std::string_view needed);

  /// The types of the outputs, or the first error.
  Result<std::vector<ValueType>> gives(std::initializer_list<ValueType> outputs) const;

 private:
  bool is(bool fits, std::size_t i, std::string_view name, std::string_view wanted);

  std::string_view op_;
  std::span<const ValueType> inputs_;
  std::string error_;
};

/// Bytes of a whole value.
double bytes(const ValueType& type) noexcept;

/// Bytes of `rows` rows of a value.
double bytes(const ValueType& type, double rows) noexcept;

/// The work of an op that reads and writes rows of activations, with `operations` for each element
/// of its first output. One-dimensional inputs count whole.
Work elementwise_work(const NodeView& node, RunShape run, double operations) noexcept;

/// The work of the product of `x` with a matrix {N, K}, without reading x.
Work product_work(const ValueType& weight, double rows) noexcept;

}  // namespace tacet::ops
