#pragma once

#include <chrono>
#include <random>
#include <vector>

namespace tacet::cli {

/// What the host takes from a program that does nothing but look: `threads` threads read the clock
/// as fast as they can, and for each of `samples` moments, one drawn uniformly from each `window`
/// of time, the result has the microseconds from the moment until all of them had read the clock
/// again. A run that polled without pause could not stop faster. Takes samples * window.
std::vector<double> host_gaps(unsigned threads, std::size_t samples,
                              std::chrono::nanoseconds window, std::mt19937_64& random);

}  // namespace tacet::cli
