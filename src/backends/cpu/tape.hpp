#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/device.hpp"

namespace tacet::cpu {

/// What a chunk of work sees of its run, and of the thread that does it.
struct ChunkContext {
  const RunArgs* run;
  std::byte* arena;    ///< 64-byte aligned
  std::byte* scratch;  ///< `scratch_bytes` for this thread alone, 64-byte aligned, not cleared
};

/// Scratch memory of each thread.
inline constexpr std::size_t scratch_bytes = 256 * 1024;

/// The longest a chunk should take. Kernels cut their work for a slow core at about half of it, so
/// that is the estimate of a chunk.
inline constexpr double chunk_seconds = 30e-6;

/// Does chunk `chunk` of a step. `arguments` is the struct given to TapeBuilder::step. Must not
/// throw or allocate.
using ChunkFunction = void (*)(const void* arguments, const ChunkContext&, std::uint32_t chunk);
/// How many chunks a step has in this run (rows and number of keys vary); may be 0. It must not
/// depend on the number of threads, and a chunk's result not on where the cuts are, so that results
/// are the same for any number of threads.
using CountFunction = std::uint32_t (*)(const void* arguments, const RunArgs&);
/// How many of a step's first chunks must have ended before chunk `chunk` starts; never falling, at
/// most `chunk`. For a step that goes in rounds: ended chunks are only counted, so what it returns
/// is where a round begins.
using NeedsFunction = std::uint32_t (*)(const void* arguments, const RunArgs&, std::uint32_t chunk);

/// One step of a tape: chunks that are independent of one another but for `needs`. A step starts
/// when the one before it has ended.
struct TapeStep {
  ChunkFunction chunk;
  CountFunction count;
  NeedsFunction needs;  ///< null: none
  const void* arguments;
  std::string_view name;  ///< of the node
  float seconds;          ///< at most so long one thread takes for all chunks, by an estimate
};

/// Collects the steps of a tape.
class TapeBuilder {
 public:
  /// Appends a step. `arguments` is copied and lives as long as the tape.
  template <typename Arguments>
  void step(const Arguments& arguments, CountFunction count, ChunkFunction chunk,
            NeedsFunction needs = nullptr) {
    static_assert(std::is_trivially_copyable_v<Arguments> && alignof(Arguments) <= 16);
    append(&arguments, sizeof(Arguments), count, chunk, needs);
  }
  /// The node that the next steps belong to, and how long one thread computes it at most, if that
  /// is known.
  void node(std::string_view name, double seconds = unknown) {
    name_ = name;
    seconds_ = seconds;
  }

  std::vector<TapeStep> take_steps() { return std::move(steps_); }
  std::vector<std::unique_ptr<std::byte[]>> take_arguments() { return std::move(arguments_); }
  std::vector<std::unique_ptr<std::string>> take_names() { return std::move(names_); }

 private:
  void append(const void* arguments, std::size_t bytes, CountFunction count, ChunkFunction chunk,
              NeedsFunction needs);

  static constexpr double unknown = std::numeric_limits<double>::infinity();

  std::string_view name_;
  double seconds_ = unknown;
  std::vector<TapeStep> steps_;
  std::vector<std::unique_ptr<std::byte[]>> arguments_;
  std::vector<std::unique_ptr<std::string>> names_;
};

/// A row of the CPU's kernel table.
struct CpuKernel : Kernel {
  /// Appends the steps that compute `node`.
  void (*emit)(const PlacedNode& node, TapeBuilder& tape) = nullptr;
};

/// Resolves a Ref while a tape runs. State values are reached through `run->kv` by their layer.
template <typename T>
T* resolve(const Ref& ref, const ChunkContext& context) noexcept {
  switch (ref.space) {
    case Ref::Space::arena:
      return reinterpret_cast<T*>(context.arena + ref.offset);
    case Ref::Space::logits:
      return reinterpret_cast<T*>(context.run->logits);
    default:
      return nullptr;
  }
}
template <typename T>
const T* resolve_input(const Ref& ref, const ChunkContext& context) noexcept {
  switch (ref.space) {
    case Ref::Space::weight:
      return reinterpret_cast<const T*>(ref.data);
    case Ref::Space::arena:
      return reinterpret_cast<const T*>(context.arena + ref.offset);
    case Ref::Space::tokens:
      return reinterpret_cast<const T*>(context.run->tokens.data());
    case Ref::Space::positions:
      return reinterpret_cast<const T*>(context.run->positions.data());
    case Ref::Space::output_rows:
      return reinterpret_cast<const T*>(context.run->output_rows.data());
    case Ref::Space::stream:
      return reinterpret_cast<const T*>(context.run->stream);
    case Ref::Space::logits:
      return reinterpret_cast<const T*>(context.run->logits);
    default:
      return nullptr;
  }
}

/// Rows that a node computes in this run.
inline std::uint32_t live_rows(bool selected, const RunArgs& run) noexcept {
  return selected ? static_cast<std::uint32_t>(run.output_rows.size()) : run.rows;
}

}  // namespace tacet::cpu
