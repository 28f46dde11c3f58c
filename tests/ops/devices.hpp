#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/device.hpp"

namespace tacet::op_tests {

/// A backend, or a variant of one that has kernels of its own.
struct DeviceKind {
  std::string name;  ///< letters, digits and underscores
  /// Makes one that computes with so many threads, if that can be chosen.
  std::function<Result<std::unique_ptr<Device>>(unsigned threads)> make;
  /// Whether it has threads of which the results must not depend.
  bool has_threads = false;
  /// Whether it takes the codes of weights, of keys and of values as halves (as_halves.hpp).
  bool has_halves = false;
};

/// All that this machine has. Every case of every op runs on each of them.
std::vector<DeviceKind> device_kinds();

}  // namespace tacet::op_tests
