#pragma once

#include <memory>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/executor.hpp"
#include "backends/device.hpp"

namespace tacet::cuda {

/// As make_cuda_device, with any driver, which has to outlive the device, and a look at its gates.
Result<std::unique_ptr<Device>> open_device(const Driver& driver, int index,
                                            GateFunction at_gate = {});

}  // namespace tacet::cuda
