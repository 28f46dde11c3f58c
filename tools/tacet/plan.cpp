#include <fmt/format.h>

#include <memory>

#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {
namespace {

/// Longer prompts are cut into runs of so many tokens.
constexpr std::uint32_t kMostRows = 512;

struct PlanOptions {
  ModelOptions model;
  SessionOptions session;
  std::uint32_t rows = 1;
  std::uint32_t keys = 0;
  bool json = false;
};

struct Total {
  double bytes = 0;
  double operations = 0;
};

Total total(const PlanReport& report) {
  Total sum;
  for (const PlanStep& step : report.steps) {
    sum.bytes += step.bytes;
    sum.operations += step.operations;
  }
  return sum;
}

Json to_json(const PlanReport& report, const ModelInfo& info) {
  Json places = Json::array();
  for (const PlanPlace& place : report.places)
    places.push_back({{"device", place.device},
                      {"first_layer", place.first_layer},
                      {"end_layer", place.end_layer},
                      {"weight_bytes", place.weight_bytes},
                      {"kv_bytes", place.kv_bytes},
                      {"arena_bytes", place.arena_bytes}});
  Json steps = Json::array();
  for (const PlanStep& step : report.steps)
    steps.push_back({{"name", step.name},
                     {"op", step.op},
                     {"place", step.place},
                     {"kernel", step.kernel},
                     {"bytes", step.bytes},
                     {"operations", step.operations}});
  const Total sum = total(report);
  return {{"rows", report.rows},
          {"keys", report.keys},
          {"placement", info.placement},
          {"places", places},
          {"arena_bytes", report.arena_bytes},
          {"bytes", sum.bytes},
          {"operations", sum.operations},
          {"steps", steps},
          {"notes", report.notes}};
}

std::string to_text(const PlanReport& report, const ModelInfo& info) {
  Table places({"place", "layers", ">weights", ">keys and values", ">intermediate values"});
  for (const PlanPlace& place : report.places)
    places.add({place.device, fmt::format("{} to {}", place.first_layer, place.end_layer - 1),
                human_bytes(static_cast<double>(place.weight_bytes)),
                human_bytes(static_cast<double>(place.kv_bytes)),
                human_bytes(static_cast<double>(place.arena_bytes))});
  Table table({"step", "op", "place", "kernel", ">bytes", ">operations"});
  for (const PlanStep& step : report.steps)
    table.add({step.name, step.op, step.place, step.kernel, human_bytes(step.bytes),
               human_count(step.operations)});
  const Total sum = total(report);
  table.add({fmt::format("{} steps", report.steps.size()), "", "", "", human_bytes(sum.bytes),
             human_count(sum.operations)});
  std::string text =
      fmt::format("{} rows, {} keys; {} for intermediate values\n{}\n\n{}\n{}", report.rows,
                  report.keys, human_bytes(static_cast<double>(report.arena_bytes)), info.placement,
                  places.text(), table.text());
  for (const std::string& note : report.notes) text += fmt::format("\nnote: {}", note);
  return report.notes.empty() ? text : text + '\n';
}

int plan(const PlanOptions& options) {
  tl::expected<Opened, int> opened = open_model(options.model);
  if (!opened) return opened.error();
  const std::uint32_t keys = options.keys == 0 ? options.rows : options.keys;
  Result<PlanReport> report = opened->model.plan(options.rows, keys, options.session);
  if (!report) return complain(report.error());
  return options.json ? print_json(to_json(*report, opened->model.info()))
                      : print(to_text(*report, opened->model.info()));
}

}  // namespace

void add_plan(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("plan", "Show each step of a model's computation and where it runs");
  auto options = std::make_shared<PlanOptions>();
  add_model_options(*command, options->model);
  add_session_options(*command, options->session);
  command->add_option("--rows", options->rows, "tokens of the run, at most 512 (default 1: decode)")
      ->type_name("N")
      ->transform(whole_number(1, kMostRows));
  command->add_option("--keys", options->keys, "keys that its last token sees (default: --rows)")
      ->type_name("N")
      ->transform(whole_number(1, kLargestContext));
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Bytes moved and operations are estimates.\n\n"
      "Example:\n  tacet plan --rows 512");
  command->callback([&job, options] { job = [options] { return plan(*options); }; });
}

}  // namespace tacet::cli
