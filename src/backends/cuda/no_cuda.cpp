#include "backends/cuda/cuda_device.hpp"

// A build without CUDA.
namespace tacet {

int cuda_device_count() noexcept {
  return 0;
}

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  return fail(Code::unsupported,
              "This build has no CUDA, so there is no device cuda:{}; build it where nvcc is, or "
              "use the device cpu.",
              index);
}

}  // namespace tacet
