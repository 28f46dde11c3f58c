#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/device.hpp"

namespace tacet {

/// The tapes of a model whose lower layers are on one device and whose upper layers are on another,
/// and what goes from the one to the other, in host memory. Runs of it execute one at a time.
class SplitTape final : public Tape {
 public:
  /// `width`: elements of a row of the residual stream. Throws std::bad_alloc.
  SplitTape(std::unique_ptr<Tape> lower, std::unique_ptr<Tape> upper, std::uint32_t rows,
            std::size_t width);

  std::uint32_t step_count() const noexcept override {
    return lower_->step_count() + upper_->step_count();
  }

 private:
  friend class Conductor;
  std::unique_ptr<Tape> lower_;
  std::unique_ptr<Tape> upper_;
  std::vector<std::int32_t> all_rows_;
  mutable std::vector<float> stream_;
};

/// Has two devices execute the parts of a SplitTape one after the other, as one run, on a thread of
/// its own. A stop stops the part that executes, and those behind it do not begin. The parts are
/// queued on their devices as runs of others are.
class Conductor final : public Executor {
 public:
  /// Devices must outlive it. Throws std::system_error if the system refuses a thread.
  Conductor(Device& lower, Device& upper);
  /// All runs must have ended.
  ~Conductor() override;

  /// Where runs of a SplitTape are submitted.
  RunQueue& queue() noexcept { return queue_; }

  void start(RunState& run) noexcept override;
  void raised(RunState& run) noexcept override;
  std::string_view name() const noexcept override { return name_; }
  std::chrono::nanoseconds stop_bound() const noexcept override { return stop_bound_; }
  /// The relay carries them over, so that it does not matter which device is at work.
  bool reads_host_signals() const noexcept override { return false; }

 private:
  struct Ended;

  void work() noexcept;
  Ended execute(RunState& run);
  Ended execute_part(RunState& run, Device& device, const Tape& tape, const RunArgs& args);

  Device& lower_;
  Device& upper_;
  const std::string name_;
  const std::chrono::nanoseconds stop_bound_;
  RunQueue queue_;
  std::vector<KvSequence> upper_sequences_;

  std::mutex mutex_;
  std::condition_variable changed_;
  RunState* next_ = nullptr;
  RunState* current_ = nullptr;
  RunHandle* part_ = nullptr;  ///< of the current run, on a device
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace tacet
