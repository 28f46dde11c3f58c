#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tacet {

/// Up to four dimensions, outermost first; the last one is contiguous. A matrix of weights is {out,
/// in}, an activation {rows, width}.
class Shape {
 public:
  static constexpr std::size_t max_rank = 4;

  constexpr Shape() noexcept = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) noexcept
      : Shape(std::span(dims.begin(), dims.size())) {}
  constexpr explicit Shape(std::span<const std::int64_t> dims) noexcept {
    for (const std::int64_t dim : dims)
      if (rank_ < max_rank) dims_[rank_++] = dim;
  }

  constexpr std::size_t rank() const noexcept { return rank_; }
  constexpr std::int64_t operator[](std::size_t axis) const noexcept { return dims_[axis]; }
  constexpr std::span<const std::int64_t> dims() const noexcept { return {dims_.data(), rank_}; }
  /// The innermost dimension; 1 for a scalar.
  constexpr std::int64_t width() const noexcept { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  /// The product of all dimensions but the innermost.
  constexpr std::int64_t rows() const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = 0; i + 1 < rank_; ++i) n *= dims_[i];
    return n;
  }
  constexpr std::int64_t elements() const noexcept { return rows() * width(); }

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept = default;

 private:
  std::array<std::int64_t, max_rank> dims_{};
  std::size_t rank_ = 0;
};

/// "[512, 896]"
std::string to_string(const Shape& shape);

}  // namespace tacet
