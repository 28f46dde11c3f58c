#pragma once

#include <vector>

#include "tacet/console.hpp"

namespace tacet::cli {

struct Summary {
  double min = 0;
  double median = 0;
  double p99 = 0;  ///< by nearest rank: with 100 values the largest but one
  double max = 0;
};
/// Of at least one value.
Summary summarize(std::vector<double> values);

/// A median with its 95% interval by order statistics, which assumes nothing of the distribution.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};
/// Of at least one value; with less than 6 the interval is all of them.
MedianInterval median_interval(std::vector<double> values);

}  // namespace tacet::cli
