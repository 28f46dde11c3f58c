#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace tacet {

/// 64-byte aligned host memory that is not cleared; empty by default. Throws std::bad_alloc.
class AlignedBytes {
 public:
  AlignedBytes() noexcept = default;
  explicit AlignedBytes(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, alignment))) {}
  AlignedBytes(AlignedBytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~AlignedBytes() {
    if (data_ != nullptr) ::operator delete(data_, alignment);
  }
  std::byte* data() const noexcept { return data_; }

 private:
  static constexpr std::align_val_t alignment{64};
  std::byte* data_ = nullptr;
};

}  // namespace tacet
