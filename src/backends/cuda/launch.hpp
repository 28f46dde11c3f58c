#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cuda/run_block.hpp"

namespace tacet::cuda {

/// A kernel of one of the modules (modules.hpp): its name in there is as in the source.
struct KernelName {
  std::string_view module;
  std::string_view kernel;
  friend bool operator==(const KernelName&, const KernelName&) noexcept = default;
};

/// Shared memory that every GPU from compute capability 8.0 on has for a block, beside a little
/// that its kernel has by itself.
inline constexpr std::size_t most_shared_bytes = 96 * 1024;

struct Grid {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// What a kernel is started with. The struct of arguments is the kernel's first parameter, the
/// RunContext its second.
struct Launch {
  KernelName kernel;
  Grid grid;
  unsigned threads = 0;  ///< of a block
  std::size_t shared_bytes = 0;
  alignas(16) std::array<std::byte, 448> arguments;
  double seconds = 0;  ///< estimate

  /// The struct that it was added with.
  template <typename Arguments>
  Arguments& of() noexcept {
    return *reinterpret_cast<Arguments*>(arguments.data());
  }
};

/// Collects launches.
class Launches {
 public:
  /// Appends a launch. A grid without blocks is left out.
  template <typename Arguments>
  void add(KernelName kernel, Grid grid, unsigned threads, const Arguments& arguments,
           std::size_t shared_bytes = 0) {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    static_assert(sizeof(Arguments) <= sizeof(Launch::arguments));
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    Launch& launch = launches_.emplace_back();
    launch.kernel = kernel;
    launch.grid = grid;
    launch.threads = threads;
    launch.shared_bytes = shared_bytes;
    std::memcpy(launch.arguments.data(), &arguments, sizeof arguments);
  }
  /// The newest launch if it is of this kernel, whose arguments may then be added to.
  Launch* last(KernelName kernel) noexcept {
    return !launches_.empty() && launches_.back().kernel == kernel ? &launches_.back() : nullptr;
  }
  /// Spreads `seconds` over the launches since the last call, or adds them to the one that does
  /// the work too.
  void take_seconds(double seconds) noexcept {
    if (timed_ == launches_.size() && timed_ != 0) launches_.back().seconds += seconds;
    const auto count = static_cast<double>(launches_.size() - timed_);
    for (; timed_ < launches_.size(); ++timed_) launches_[timed_].seconds = seconds / count;
  }
  std::vector<Launch> take() { return std::move(launches_); }

 private:
  std::vector<Launch> launches_;
  std::size_t timed_ = 0;
};

inline std::uint32_t ceil_div(std::size_t a, std::size_t b) noexcept {
  return static_cast<std::uint32_t>((a + b - 1) / b);
}

}  // namespace tacet::cuda
