#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/engine.hpp"

namespace tacet::cli {

/// Which model, and with what it computes.
struct ModelOptions {
  std::string path;  ///< not given: the embedded model
  std::string device = "auto";
  GpuLayers gpu_layers = GpuLayers::automatic();
  unsigned threads = 0;  ///< 0: one a core
  bool read = false;     ///< copy the file instead of mapping it
  bool verbose = false;  ///< show log lines of level info, and what was loaded

  /// The file, or "tiny-chat (embedded)".
  std::string label() const;
};
void add_model_options(CLI::App& command, ModelOptions& options);
/// --ctx, --kv and --window.
void add_session_options(CLI::App& command, SessionOptions& options);

/// An engine with a model that is loaded; a progress bar shows for long loads.
struct Opened {
  Engine engine;
  Model model;
};
/// Loads the model of `options`. A signal stops it. The error is an exit code; its message was
/// written.
tl::expected<Opened, int> open_model(const ModelOptions& options);

/// A length of time as the user writes it: a number that may have a fraction, and us, ms, s or
/// min. Fails with invalid_argument.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Checks of an option's value: a number from `low` to `high`, the lowest excluded at will; NaN is
/// refused too.
enum class Lowest { included, excluded };
CLI::Validator number(double low, double high, Lowest lowest = Lowest::included);
/// A whole number from `low` to `high`, in decimal digits. For Option::transform: it takes away
/// zeros in front, which would make the number octal.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
/// One of `names`.
CLI::Validator one_of(std::vector<std::string> names);
/// A path that is not empty.
CLI::Validator path_given(std::string remedy);

/// The largest values that the library takes; an option's check names them before a model is
/// loaded.
inline constexpr std::uint32_t kMostThreads = 512;
inline constexpr std::uint32_t kLargestContext = 4194304;
inline constexpr std::uint32_t kLargestWindow = 1U << 30;
/// Of tokens asked for; far more than fit.
inline constexpr std::uint32_t kMostTokens = std::numeric_limits<std::int32_t>::max();

}  // namespace tacet::cli
