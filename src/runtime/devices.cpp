#include "runtime/devices.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cpu/cpu_device.hpp"
#include "backends/cuda/cuda_device.hpp"

namespace tacet::detail {

std::vector<std::string> device_names() {
  std::vector<std::string> names{"cpu"};
  for (int i = 0; i < cuda_device_count(); ++i) names.push_back(fmt::format("cuda:{}", i));
  return names;
}

Result<std::unique_ptr<Device>> open_device(std::string_view name, unsigned threads) {
  const std::vector<std::string> names = device_names();
  const std::string wanted(name != "auto" ? name : names.size() > 1 ? names[1] : names[0]);
  if (std::ranges::find(names, wanted) == names.end())
    return fail(Code::invalid_argument, "There is no device '{}' here; use auto or one of {}.",
                wanted, fmt::join(names, ", "));
  if (wanted != "cpu")
    return make_cuda_device(static_cast<int>(std::ranges::find(names, wanted) - names.begin()) - 1);
  const auto isa = cpu::choose();
  if (!isa) return tl::unexpected(isa.error());
  return make_cpu_device({.threads = threads, .isa = *isa});
}

}  // namespace tacet::detail
