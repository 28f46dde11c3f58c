#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/error.hpp"
#include "tacet/model.hpp"
#include "tacet/stop.hpp"

namespace tacet {

enum class LogLevel { debug, info, warning, error };

/// Receives log lines: one sentence, without a newline. Called by any thread, one call at a time.
/// Must not throw, and must not call into the library. What it uses has to live until the engine
/// and all that came from it are gone.
using LogFunction = std::function<void(LogLevel, std::string_view)>;

struct EngineOptions {
  /// Threads that compute on the CPU; 0: one for each core that this process may use.
  unsigned threads = 0;
  /// Where log lines go; empty: lines of level `warning` and above go to standard error.
  LogFunction log = {};
  /// Where models run: "cpu", "cuda:0", or "auto", the first GPU, or the CPU where there is none.
  std::string device = "auto";
};

/// A device that models can run on.
struct DeviceDescription {
  std::string name;         ///< "cpu"
  std::string description;  ///< processor, instruction set, threads
  std::uint64_t memory_total = 0;
  std::uint64_t memory_free = 0;
  std::chrono::nanoseconds
      stop_bound{};  ///< the longest work between two polls that the device promises
};

/// How a file's bytes come into memory.
enum class LoadMode {
  map,  ///< mapped: starts at once, shares memory between processes; the file must not be cut short
        ///< meanwhile
  read,  ///< copied: safe from later changes of the file
};

/// How many layers of a model run on the engine's GPU: its last ones, with the output behind them.
/// The layers before run on the CPU. A small value.
class GpuLayers {
 public:
  /// All that fit, with what a run and a session of up to 4096 tokens need.
  static constexpr GpuLayers automatic() noexcept { return GpuLayers(-1); }
  static constexpr GpuLayers all() noexcept { return GpuLayers(-2); }
  /// So many; those of the model, if it has fewer. 0: the model runs on the CPU.
  static constexpr GpuLayers count(std::uint32_t layers) noexcept { return GpuLayers(layers); }

  constexpr bool is_automatic() const noexcept { return layers_ == -1; }
  /// How many of `layers`; not for `automatic`.
  constexpr std::uint32_t of(std::uint32_t layers) const noexcept {
    return layers_ < 0 || layers_ > layers ? layers : static_cast<std::uint32_t>(layers_);
  }
  friend constexpr bool operator==(GpuLayers, GpuLayers) noexcept = default;

 private:
  constexpr explicit GpuLayers(std::int64_t layers) noexcept : layers_(layers) {}
  std::int64_t layers_;
};

struct LoadOptions {
  LoadMode mode = LoadMode::map;
  /// Stops the load; the result is then an Error with Code::stopped.
  StopToken stop = {};
  /// Told how many bytes are resident, a few hundred times at most. Must not throw.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  /// Other than `automatic` and `count(0)` it is refused by an engine that runs models on the CPU.
  GpuLayers gpu_layers = GpuLayers::automatic();
};

namespace detail {
class EngineImpl;
}

/// A device of this machine and what is shared on it: the root of everything. A cheap handle;
/// models keep it alive. Thread-safe.
class Engine {
 public:
  static Result<Engine> create(EngineOptions options = {});

  /// All devices of this machine that models could run on.
  Result<std::vector<DeviceDescription>> devices() const;
  /// The one that this engine's models run on.
  Result<DeviceDescription> device() const;

  /// Loads a GGUF model: reads and checks the file, makes the weights resident.
  Result<Model> load(const std::string& path, const LoadOptions& options = {}) const;
  /// A model from bytes in memory, such as one that is linked into the program. They must outlive
  /// the model.
  Result<Model> load(std::span<const std::byte> bytes, const LoadOptions& options = {}) const;

 private:
  explicit Engine(std::shared_ptr<detail::EngineImpl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<detail::EngineImpl> impl_;
};

}  // namespace tacet
