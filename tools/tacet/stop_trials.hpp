#pragma once

#include <functional>
#include <string>

#include "tacet/model.hpp"
#include "tacet/statistics.hpp"

namespace tacet::cli {

/// A call whose stops are measured, always from the same state.
struct StopTask {
  std::string name;  ///< "prompt" or "decode"
  Session start;     ///< never changed: each call runs on a fork of it
  std::function<Outcome(Session&, const StopToken&)> call;
  /// The same call again after a stop: does what is left of it.
  std::function<Outcome(Session&, const Outcome& stopped)> again;
  std::uint32_t tokens = 0;  ///< that the whole call evaluates or delivers
};

enum class StopVia { source, byte };

struct StopTrialOptions {
  std::size_t stops = 400;
  std::size_t pairs = 0;  ///< of timings for the slowdown; 0: at least 40, more for short calls
  StopVia via = StopVia::source;
  unsigned threads = 1;    ///< that watch the clock
  std::uint64_t seed = 1;  ///< of the moments
};

struct StopReport {
  std::size_t stops = 0;
  Summary return_us;
  Summary idle_us;
  double host_gap_p99_us = 0;
  MedianInterval slowdown_percent;
  std::size_t pairs = 0;
  bool bits_equal = true;
  std::size_t repeats = 0;  ///< calls that were repeated to compare bits
  std::size_t missed = 0;   ///< calls that ended before their stop, and were drawn again
  double undisturbed_us = 0;
  std::uint32_t tokens = 0;
};

/// Measures `task`; `progress` is told the parts done of the whole.
Result<StopReport> measure_stops(
    StopTask& task, const StopTrialOptions& options,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace tacet::cli
