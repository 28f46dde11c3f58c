#pragma once

#include <memory>

#include "backends/device.hpp"

namespace tacet {

/// How many CUDA devices this process can use; 0 without a driver, without a device, or in a build
/// without CUDA.
int cuda_device_count() noexcept;

/// The device "cuda:<index>". Errors: there is none of this number, its driver is too old, or it
/// has no memory left.
Result<std::unique_ptr<Device>> make_cuda_device(int index);

}  // namespace tacet
