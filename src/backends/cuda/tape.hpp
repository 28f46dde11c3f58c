#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/gpu.hpp"
#include "backends/cuda/launch.hpp"
#include "backends/cuda/loaded_kernels.hpp"
#include "backends/device.hpp"

namespace tacet::cuda {

/// What a GPU has, as far as launches depend on it. No result does.
struct GpuSize {
  std::uint32_t multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< of a multiprocessor
};

/// Collects the launches of a tape, and knows where its values lie.
class TapeBuilder {
 public:
  TapeBuilder(std::byte* arena, std::size_t logits_offset, std::size_t stream_offset,
              std::uint32_t* zeros, const GpuSize& gpu_size) noexcept
      : arrivals(zeros),
        size(gpu_size),
        arena_(arena),
        logits_offset_(logits_offset),
        stream_offset_(stream_offset) {}

  Launches launches;
  std::uint32_t* const arrivals;  ///< arrival_words of them
  const GpuSize size;

  /// Where a value lies. Tokens, positions and output rows are in the RunBlock.
  template <typename T>
  T* address(const Ref& ref) const noexcept {
    switch (ref.space) {
      case Ref::Space::weight:
        return reinterpret_cast<T*>(const_cast<std::byte*>(ref.data));
      case Ref::Space::arena:
        return reinterpret_cast<T*>(arena_ + ref.offset);
      case Ref::Space::logits:
        return reinterpret_cast<T*>(arena_ + logits_offset_);
      case Ref::Space::stream:
        return reinterpret_cast<T*>(arena_ + stream_offset_);
      default:
        return nullptr;
    }
  }

 private:
  std::byte* arena_;
  std::size_t logits_offset_;
  std::size_t stream_offset_;
};

/// A row of CUDA's kernel table.
struct CudaKernel : Kernel {
  /// Appends the launches that compute `node`.
  void (*emit)(const PlacedNode& node, TapeBuilder& tape) = nullptr;
};

/// Launches that are submitted at once, as a graph.
class Segment {
 public:
  Segment(const Gpu& gpu, CUgraphExec graph, std::uint32_t end) noexcept
      : gpu_(gpu), graph_(graph), end_(end) {}
  Segment(Segment&& other) noexcept
      : gpu_(other.gpu_), graph_(std::exchange(other.graph_, nullptr)), end_(other.end_) {}
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  CUgraphExec graph() const noexcept { return graph_; }
  /// The number of launches up to its last.
  std::uint32_t end() const noexcept { return end_; }

 private:
  Gpu gpu_;
  CUgraphExec graph_;
  std::uint32_t end_;
};

class CudaTape final : public Tape {
 public:
  using Tape::Tape;
  std::uint32_t step_count() const noexcept override { return steps; }

  std::vector<Segment> segments;
  std::uint32_t steps = 0;
  std::shared_ptr<DeviceMemory> arena;
  const float* logits = nullptr;  ///< on the device
  std::size_t logits_width = 0;
  std::byte* stream = nullptr;   ///< on the device: what another device has computed before
  std::size_t stream_width = 0;  ///< 0: there is none
};

/// Makes the segments of a tape of `rows` rows. Each has at most so much work that two of them end
/// within the device's stop bound.
Result<std::vector<Segment>> make_segments(std::span<const Launch> launches, std::uint32_t rows,
                                           const RunContext& context, const Gpu& gpu,
                                           LoadedKernels& kernels);

}  // namespace tacet::cuda
