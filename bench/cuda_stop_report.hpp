#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda_stop_device.hpp"

/// What cuda_stop has measured, as a table or as JSON.
namespace tacet::bench {

/// A way to run something, and what was measured of it.
struct Way {
  std::string name;
  bool polls = true, early = false;
  unsigned gate_every = 0;     ///< kernels in an IF node; 0: there are none
  unsigned segment_every = 0;  ///< kernels in a graph; 0: all
  std::size_t base = 0;        ///< the way that its time is compared with
  std::vector<Graph> graphs;
  std::string refused;  ///< why it was not measured
  std::vector<double> times, ratios, stops;
  unsigned stopped = 0, missed = 0;
};

struct Report {
  const char* device;
  unsigned kernels, megabytes;  ///< of the chain: how many, and what each reads
  unsigned blocks;              ///< of such a kernel
  double seconds;               ///< that all took
  std::span<const double> host_gaps;
  std::span<const Way> ways;
};

/// The smallest value that so large a part of all does not exceed.
inline double quantile(std::span<const double> all, double part) {
  std::vector<double> values(all.begin(), all.end());
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const auto rank = std::ceil(part * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

inline void print_table(const Report& report) {
  std::printf("%s, %u kernels of %u MiB; microseconds, median (min to max)\n", report.device,
              report.kernels, report.megabytes);
  std::printf("%-34s %-36s %-26s %s\n", "", "undisturbed", "ratio to the first way of its kind",
              "store to idle: median, p99, max (stops, stopped, missed)");
  for (const Way& way : report.ways) {
    std::printf("%-34s %10.1f (%10.1f to %10.1f)  %.4f (%.4f to %.4f)  ", way.name.c_str(),
                quantile(way.times, 0.5), quantile(way.times, 0), quantile(way.times, 1),
                quantile(way.ratios, 0.5), quantile(way.ratios, 0), quantile(way.ratios, 1));
    if (way.polls)
      std::printf("%7.1f %7.1f %7.1f (%zu, %u, %u)", quantile(way.stops, 0.5),
                  quantile(way.stops, 0.99), quantile(way.stops, 1), way.stops.size(), way.stopped,
                  way.missed);
    std::printf(" %s\n", way.refused.c_str());
  }
  std::printf("gaps of the host in a millisecond: median %.1f, p99 %.1f, max %.1f\n",
              quantile(report.host_gaps, 0.5), quantile(report.host_gaps, 0.99),
              quantile(report.host_gaps, 1));
}

/// "NAME": {"count": 3, "median": 1, "p99": 2, "min": 1, "max": 2}; null where nothing was
/// measured.
inline void print_values(const char* name, std::span<const double> values) {
  std::printf("\"%s\": {\"count\": %zu", name, values.size());
  const std::pair<const char*, double> parts[] = {
      {"median", 0.5}, {"p99", 0.99}, {"min", 0}, {"max", 1}};
  for (const auto& [part, rank] : parts)
    if (values.empty())
      std::printf(", \"%s\": null", part);
    else
      std::printf(", \"%s\": %.6g", part, quantile(values, rank));
  std::printf("}");
}

inline void print_json(const Report& report) {
  std::printf("{\"device\": \"%s\", \"kernels\": %u, \"megabytes\": %u, ", report.device,
              report.kernels, report.megabytes);
  std::printf("\"blocks\": %u, \"seconds\": %.1f, ", report.blocks, report.seconds);
  print_values("host_gap_us", report.host_gaps);
  std::printf(", \"ways\": [");
  for (const Way& way : report.ways) {
    std::printf("%s\n  {\"name\": \"%s\", \"early\": %s, \"polls\": %s, \"gate_every\": %u, ",
                &way == report.ways.data() ? "" : ",", way.name.c_str(),
                way.early ? "true" : "false", way.polls ? "true" : "false", way.gate_every);
    std::printf("\"segment_every\": %u, \"relative_to\": \"%s\", \"refused\": \"%s\", ",
                way.segment_every, report.ways[way.base].name.c_str(), way.refused.c_str());
    print_values("run_us", way.times);
    std::printf(", ");
    print_values("relative", way.ratios);
    std::printf(", ");
    print_values("stop_us", way.stops);
    std::printf(", \"stopped\": %u, \"missed\": %u}", way.stopped, way.missed);
  }
  std::printf("\n]}\n");
}

}  // namespace tacet::bench
