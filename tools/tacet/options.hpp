#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tacet/engine.hpp"

namespace tacet::cli {

/// Which model, and with what it computes.
struct ModelOptions {
  std::string path;      ///< empty: the embedded model
  unsigned threads = 0;  ///< 0: one a core
  bool read = false;     ///< copy the file instead of mapping it
  bool verbose = false;  ///< show log lines of level info

  /// The file, or "tiny-chat (embedded)".
  std::string label() const;
};
void add_model_options(CLI::App& command, ModelOptions& options);
/// --ctx and --kv.
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

/// An option's check that a number is from `low` to `high`; refuses NaN too.
CLI::Validator in_range(double low, double high);

}  // namespace tacet::cli
