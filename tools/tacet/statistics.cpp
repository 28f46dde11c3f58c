#include "tacet/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tacet::cli {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

Summary summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  return {values.front(), median_of_sorted(values), values[rank - 1], values.back()};
}

MedianInterval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  // How many of n values lie below the median is binomial; its normal approximation.
  const double margin = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - margin)));
  return {median_of_sorted(values), values[low], values[values.size() - 1 - low]};
}

}  // namespace tacet::cli
