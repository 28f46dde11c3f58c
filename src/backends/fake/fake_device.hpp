#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "backends/device.hpp"

namespace tacet {

/// What a fake device does wrong, and when.
struct FakeOptions {
  std::string name = "fake";
  /// Ops whose row is missing from the kernel table.
  std::set<std::string, std::less<>> lacks = {};
  /// What it states; 0: nothing.
  std::chrono::nanoseconds stop_bound = std::chrono::milliseconds(100);
  /// Memory that can be allocated, bytes.
  std::uint64_t memory = std::uint64_t{1} << 32;
};

/// The device for tests: computes each node with its op's double-precision reference on a thread of
/// its own, one node between two polls. It can not read host memory, so bytes and deadlines reach
/// it through the relay. Faults are set at any time, from any thread, and hold for later runs.
class FakeDevice : public Device {
 public:
  static constexpr std::uint32_t never = 0xffffffff;

  /// Fails the next run at this step.
  virtual void fail_at(std::uint32_t step) noexcept = 0;
  /// Loses the device at this step of the next run: it and all later runs end as
  /// failed(device_lost).
  virtual void lose_at(std::uint32_t step) noexcept = 0;
  /// Holds runs before this step until `let_go`, or a stop. `never`: no hold.
  virtual void hold_at(std::uint32_t step) noexcept = 0;
  virtual void let_go() noexcept = 0;
  /// Holds runs whose work is complete before their end is reported, until `let_go`; a stop then
  /// comes too late.
  virtual void complete_late(bool late) noexcept = 0;
  /// Waits until a run is held.
  virtual void wait_until_held() noexcept = 0;
  /// Steps executed since the start.
  virtual std::uint64_t steps_executed() const noexcept = 0;
};

Result<std::unique_ptr<FakeDevice>> make_fake_device(const FakeOptions& options = {});

}  // namespace tacet
