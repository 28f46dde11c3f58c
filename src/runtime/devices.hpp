#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device.hpp"

namespace tacet::detail {

/// The names of the devices of this machine, "cpu" and then "cuda:0", "cuda:1" and so on.
std::vector<std::string> device_names();

/// Opens the device with this name; "auto" is the first GPU, or the CPU where there is none.
/// `threads` compute on the CPU, 0: one for each core. Errors: there is no such device, or it can
/// not be used.
Result<std::unique_ptr<Device>> open_device(std::string_view name, unsigned threads);

}  // namespace tacet::detail
