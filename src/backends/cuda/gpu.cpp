#include "backends/cuda/gpu.hpp"

namespace tacet::cuda {

DeviceMemory DeviceMemory::on_device(const Gpu& gpu, std::size_t bytes) noexcept {
  const auto scope = gpu.scope();
  DeviceMemory memory;
  CUdeviceptr data = 0;
  if (gpu.driver->mem_alloc(&data, bytes) != CUDA_SUCCESS) return memory;
  memory.gpu_ = gpu;
  memory.data_ = reinterpret_cast<std::byte*>(data);
  memory.size_ = bytes;
  return memory;
}

DeviceMemory DeviceMemory::on_host(const Gpu& gpu, std::size_t bytes) noexcept {
  const auto scope = gpu.scope();
  DeviceMemory memory;
  void* data = nullptr;
  if (gpu.driver->mem_host_alloc(&data, bytes, CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS)
    return memory;
  memory.gpu_ = gpu;
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = bytes;
  memory.of_host_ = true;
  return memory;
}

DeviceMemory::~DeviceMemory() {
  if (data_ == nullptr) return;
  const auto scope = gpu_.scope();
  if (of_host_)
    gpu_.driver->mem_free_host(data_);
  else
    gpu_.driver->mem_free(pointer(data_));
}

}  // namespace tacet::cuda
