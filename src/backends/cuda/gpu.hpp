#pragma once

#include <utility>

#include "backends/cuda/driver.hpp"

namespace tacet::cuda {

/// One GPU, and its context, which whoever made this holds.
struct Gpu {
  const Driver* driver = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
  /// Kernels may begin before the one they depend on has ended, and wait for it themselves:
  /// machine code for 9.x does (device_code.cuh).
  bool begins_early = false;

  /// Calls of the driver are made while such a scope lives.
  [[nodiscard]] ContextScope scope() const noexcept { return {*driver, context}; }
};

inline CUdeviceptr pointer(const void* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

/// Memory of a GPU, or of the host where the GPU can reach it; freed with its owner.
class DeviceMemory {
 public:
  DeviceMemory() noexcept = default;
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory old(std::move(other));
    swap(old);
    return *this;
  }
  ~DeviceMemory();
  /// Empty if there is none.
  static DeviceMemory on_device(const Gpu& gpu, std::size_t bytes) noexcept;
  static DeviceMemory on_host(const Gpu& gpu, std::size_t bytes) noexcept;

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(of_host_, other.of_host_);
  }
  Gpu gpu_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool of_host_ = false;
};

}  // namespace tacet::cuda
