#pragma once

#include <memory>

#include "backends/cpu/isa.hpp"
#include "backends/device.hpp"

namespace tacet {

struct CpuOptions {
  unsigned threads = 0;  ///< that compute; 0: one for each core that this process may use
  cpu::Isa isa = cpu::Isa::portable;
};

/// The processor as a device. Fails if the system refuses threads or memory.
Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options);

}  // namespace tacet
