#include "ops/devices.hpp"

#include <fmt/format.h>

#include "backends/cpu/cpu_device.hpp"
#include "backends/cuda/cuda_device.hpp"
#include "backends/fake/fake_device.hpp"

namespace tacet::op_tests {

std::vector<DeviceKind> device_kinds() {
  std::vector<DeviceKind> kinds;
  for (const cpu::Isa isa : cpu::available())
    kinds.push_back(
        {.name = fmt::format("cpu_{}", cpu::name(isa)),
         .make =
             [isa](unsigned threads) { return make_cpu_device({.threads = threads, .isa = isa}); },
         .has_threads = true});
  for (int i = 0; i < cuda_device_count(); ++i) {
    // While one is open others open fast.
    auto open = std::make_shared<Result<std::unique_ptr<Device>>>(make_cuda_device(i));
    kinds.push_back({.name = fmt::format("cuda_{}", i),
                     .make = [i, open](unsigned) { return make_cuda_device(i); },
                     .has_halves = true});
  }
  kinds.push_back({.name = "fake", .make = [](unsigned) -> Result<std::unique_ptr<Device>> {
                     auto device = make_fake_device();
                     if (!device) return fail(std::move(device));
                     return std::move(*device);
                   }});
  return kinds;
}

}  // namespace tacet::op_tests
