#include "tacet/host_gaps.hpp"

#include <algorithm>
#include <thread>

#include "tacet/console.hpp"
#include "tacet/stop.hpp"

namespace tacet::cli {
namespace {

/// Sets `seen[i]` to the first reading of the clock at or after `moments[i]`, in order.
void watch_clock(const std::vector<Clock::time_point>& moments,
                 std::vector<Clock::time_point>& seen) {
  for (std::size_t next = 0; next < moments.size();) {
    const Clock::time_point now = Clock::now();
    for (; next < moments.size() && now >= moments[next]; ++next) seen[next] = now;
  }
}

}  // namespace

std::vector<double> host_gaps(unsigned threads, std::size_t samples,
                              std::chrono::nanoseconds window, std::mt19937_64& random) {
  std::uniform_int_distribution<std::chrono::nanoseconds::rep> within(0, window.count());
  // A few milliseconds pass before all threads spin.
  const Clock::time_point start = Clock::now() + std::chrono::milliseconds(3);
  std::vector<Clock::time_point> moments(samples);
  for (std::size_t i = 0; i < samples; ++i)
    moments[i] = start + static_cast<std::chrono::nanoseconds::rep>(i) * window +
                 std::chrono::nanoseconds(within(random));

  std::vector<std::vector<Clock::time_point>> seen(threads, moments);
  std::vector<std::thread> watchers;
  watchers.reserve(threads);
  for (std::vector<Clock::time_point>& one : seen)
    watchers.emplace_back([&moments, &one] { watch_clock(moments, one); });
  for (std::thread& watcher : watchers) watcher.join();

  std::vector<double> gaps(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    Clock::time_point last = moments[i];
    for (const std::vector<Clock::time_point>& one : seen) last = std::max(last, one[i]);
    gaps[i] = microseconds(last - moments[i]);
  }
  return gaps;
}

}  // namespace tacet::cli
