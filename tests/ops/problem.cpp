#include "ops/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

using Kind = Input::Kind;

bool has_rows(const Input& input) {
  return input.kind != Kind::constant && input.kind != Kind::keys && input.kind != Kind::values;
}

double root_mean_square(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(row.size()));
}

void compare_row(std::span<const float> given, std::span<const float> expected,
                 const Tolerance& tolerance, std::string_view where, Comparison& comparison) {
  const double scale = root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (given[i] == expected[i]) continue;  // infinities too
    // What is smaller than 1e-30 may become 0.
    const double allowed =
        tolerance.of_row * scale + tolerance.of_element * std::abs(expected[i]) + 1e-30;
    const double error = std::abs(static_cast<double>(given[i]) - expected[i]) / allowed;
    if (error <= comparison.worst) continue;
    comparison.worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    if (comparison.worst > 1)
      comparison.difference =
          fmt::format("{}, element {}: {}, not {}; the error is {:.3g} times what is allowed.",
                      where, i, given[i], expected[i], comparison.worst);
  }
}

}  // namespace

std::vector<ValueType> input_types(const Step& step) {
  std::vector<ValueType> types;
  for (const Input& input : step.inputs) types.push_back(input.type);
  return types;
}

bool is_selected(const Step& step) {
  return std::any_of(step.inputs.begin(), step.inputs.end(),
                     [](const Input& input) { return input.kind == Kind::output_rows; });
}

std::uint32_t live_rows(const Problem& problem, const Step& step) {
  for (const Input& input : step.inputs)
    if (input.kind == Kind::output_rows)
      return static_cast<std::uint32_t>(input.type.shape[0]) - problem.spare;
  return problem.rows;
}

std::vector<std::size_t> output_widths(const Step& step) {
  std::vector<std::size_t> widths;
  if (step.op->writes_state) return widths;
  const auto types = step.op->infer(input_types(step), step.attributes);
  if (!types) return widths;
  for (const ValueType& type : *types)
    widths.push_back(static_cast<std::size_t>(type.shape.width()));
  return widths;
}

Outcome reference(const Problem& problem) {
  Outcome outcome;
  outcome.kv = bytes_of(problem.kv);
  const KvRun kv(problem.kv, outcome.kv.data(), problem.rows);
  for (const Step& step : problem.steps) {
    std::vector<HostTensor> inputs;
    for (const Input& input : step.inputs)
      inputs.push_back({input.type, input.data(), KvMemory::layer});
    const std::uint32_t rows = live_rows(problem, step);
    outcome.widths = output_widths(step);
    outcome.outputs.clear();
    for (const std::size_t width : outcome.widths) outcome.outputs.emplace_back(rows * width);
    const std::vector<std::span<float>> outputs(outcome.outputs.begin(), outcome.outputs.end());
    step.op->reference({.attributes = step.attributes,
                        .inputs = inputs,
                        .outputs = outputs,
                        .rows = rows,
                        .kv = &kv.view(),
                        .run_rows = problem.rows});
  }
  return outcome;
}

Comparison compare(const Outcome& given, const Outcome& expected, const Tolerance& tolerance) {
  Comparison comparison;
  for (std::size_t o = 0; o < expected.outputs.size(); ++o) {
    const std::size_t width = expected.widths[o];
    for (std::size_t start = 0; start < expected.outputs[o].size(); start += width)
      compare_row(std::span(given.outputs[o]).subspan(start, width),
                  std::span(expected.outputs[o]).subspan(start, width), tolerance,
                  fmt::format("output {}, row {}", o, start / width), comparison);
  }
  const auto [a, b] = std::mismatch(given.kv.begin(), given.kv.end(), expected.kv.begin());
  if (a != given.kv.end())
    comparison = {std::numeric_limits<double>::infinity(),
                  fmt::format("byte {} of the pages is {}, not {}.", a - given.kv.begin(),
                              static_cast<int>(*a), static_cast<int>(*b))};
  return comparison;
}

Problem slice(const Problem& problem, std::uint32_t first, std::uint32_t count) {
  Problem part = problem;
  for (Step& step : part.steps) {
    const bool selected = is_selected(step);
    for (Input& input : step.inputs)
      if (selected ? input.kind == Kind::output_rows : has_rows(input))
        input = slice(input, first, count);
    if (!selected) part.rows = count;
  }
  part.kv.clear();
  std::uint32_t row = 0;
  for (const KvMemory& memory : problem.kv) {
    const std::uint32_t rows = memory.rows == KvMemory::all_rows ? problem.rows : memory.rows;
    const std::uint32_t begin = std::max(row, first), end = std::min(row + rows, first + count);
    if (begin < end) {
      part.kv.push_back(memory);
      part.kv.back().shape.past += begin - row;
      part.kv.back().rows = end - begin;
    }
    row += rows;
  }
  return part;
}

Problem with_spare_rows(Problem problem, std::uint32_t count) {
  for (Step& step : problem.steps)
    for (Input& input : step.inputs)
      if (has_rows(input)) input = with_spare_rows(input, count);
  problem.spare = count;
  return problem;
}

std::string bits_differ(const Outcome& part, const Outcome& all, std::uint32_t first) {
  for (std::size_t o = 0; o < part.outputs.size(); ++o) {
    const std::size_t width = part.widths[o];
    for (std::size_t i = 0; i < part.outputs[o].size(); ++i) {
      const float one = part.outputs[o][i];
      const float other = all.outputs[o][first * width + i];
      if (std::memcmp(&one, &other, sizeof one) != 0)
        return fmt::format("output {}, row {}, element {}: {} and {}", o, first + i / width,
                           i % width, one, other);
    }
  }
  return {};
}

}  // namespace tacet::op_tests
