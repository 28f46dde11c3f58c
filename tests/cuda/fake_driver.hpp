#pragma once

#include <functional>

#include "backends/cuda/driver.hpp"

namespace tacet::test {

/// A CUDA driver whose device is memory of the host. Its streams do at once what they are told; its
/// kernels do nothing, but for the one that ends a run. There is one at a time.
class FakeDriver {
 public:
  FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const cuda::Driver& driver() const noexcept { return driver_; }
  /// From now on the n-th call that may fail does; or this one and all behind it.
  void fail(long n, CUresult status, bool for_good = false) noexcept;
  /// Calls that may fail since then.
  long calls() const noexcept;
  /// Called before each kernel that ends a run.
  void before_end(std::function<void()> call);
  /// Allocations, streams, graphs and modules that were not given back.
  long held() const noexcept;

 private:
  cuda::Driver driver_{};
};

}  // namespace tacet::test
