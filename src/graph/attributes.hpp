#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tacet {

/// The parameters of one node: a small plain struct that the op defines, kept by value. Only the
/// op's own files know its type, so a new op changes nothing here.
class Attributes {
 public:
  static constexpr std::size_t capacity = 48;

  Attributes() noexcept = default;
  template <typename T>
  requires(!std::is_same_v<T, Attributes>) explicit Attributes(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= capacity);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }

  /// The struct that was put in; the op knows which.
  template <typename T>
  T as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= capacity);
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    return value;
  }

 private:
  std::array<std::byte, capacity> bytes_{};
};

}  // namespace tacet
