#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/kernel.hpp"
#include "backends/run_queue.hpp"
#include "base/result.hpp"

namespace tacet {

struct DeviceInfo {
  std::string name;         ///< "cpu"
  std::string description;  ///< "AMD EPYC 9565, avx2, 2 threads"
  std::uint64_t memory_total = 0;
  /// The longest work between two polls; 0: none is stated, and runs with a token are refused.
  std::chrono::nanoseconds stop_bound{};
  /// Whether its kernels read weights where the host has them, and the host its buffers. Otherwise
  /// an address of the device is of use to it alone: weights are brought to it by `arrange`, and
  /// the host reads and writes buffers by `read` and `write`.
  bool reads_host_memory = true;
  /// So many nodes before the one that executes may still execute, or do it with this one: what
  /// they use stays in place so much longer.
  std::size_t overlap = 0;
};

/// A part of a plan, compiled to what a device executes. Immutable; made by the device that runs
/// it.
class Tape {
 public:
  explicit Tape(const Part& part);
  virtual ~Tape() = default;

  /// Whether a run with `args` keeps to what the part was planned for: at most so many rows and
  /// keys, and every row in one sequence, whose page table holds its cells.
  Result<void> check(const RunArgs& args) const;
  /// Steps of a run, as results count them.
  virtual std::uint32_t step_count() const noexcept = 0;

 protected:
  Tape(const Tape&) = default;

 private:
  std::uint32_t rows_;
  std::uint32_t max_keys_;  ///< of its attention; 0: it has none
  bool uses_state_;
};

/// Device memory; freed with its owner.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
};

/// A place where plans run. Thread-safe. Buffers and tapes must not outlive it.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  /// Bytes that could be allocated now; 0 if that is not known.
  virtual std::uint64_t memory_free() const = 0;
  /// The kernel that computes `node` here, or null.
  virtual const Kernel* find(const NodeView& node) const noexcept = 0;
  /// Memory for `purpose` ("the KV cache"), 64-byte aligned, zeroed. The error says what was asked,
  /// for what, what is free; Code::stopped if `stop` fired meanwhile.
  virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes, std::string_view purpose,
                                                   const StopToken& stop = {}) = 0;
  /// Weights of the type `matrix`, which lie as in files at `rows`, in memory of the device and in
  /// the layout that a kernel from `find` asks for. Code::stopped if `stop` fired meanwhile.
  virtual Result<std::unique_ptr<Buffer>> arrange(const ValueType& matrix, const std::byte* rows,
                                                  Layout layout, const StopToken& stop = {}) {
    (void)matrix, (void)rows, (void)layout, (void)stop;
    return fail(Code::internal, "The device {} has weights in one layout only.", info().name);
  }
  /// Compiles a part whose kernels all came from `find`. The part may go afterwards; its weights
  /// may not.
  virtual Result<std::unique_ptr<Tape>> lower(const Part& part) = 0;
  /// Copies inside device memory, while no run that uses either range is in flight.
  virtual Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Copies from device memory to the host's, and back; else as `copy`.
  virtual Result<void> read(std::span<std::byte> to, const std::byte* from) = 0;
  virtual Result<void> write(std::byte* to, std::span<const std::byte> from) = 0;
  /// Where runs are submitted.
  virtual RunQueue& queue() noexcept = 0;
};

}  // namespace tacet
