#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "base/result.hpp"
#include "tacet/bench_tasks.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/options.hpp"
#include "tacet/stop_trials.hpp"

namespace tacet::cli {
namespace {

/// How long an undisturbed call may take, so that hundreds of them can be stopped.
constexpr std::chrono::milliseconds kCallTime{400};
/// A decode begins with a prompt of up to so many tokens.
constexpr std::uint32_t kDecodePrompt = 32;
constexpr std::uint32_t kLeastContext = 2 * kDecodePrompt;

constexpr const char* kFooter =
    "A second thread sleeps until a moment drawn uniformly from the length of the undisturbed "
    "call\n"
    "and asks for a stop. `return` counts from just before its store to the return of the call,\n"
    "`idle` to the device being idle. Calls that ended before their stop are drawn again. The "
    "first\n"
    "call and every tenth is repeated after its stop: bits_equal says whether all left the tokens "
    "and\n"
    "logits of an undisturbed call, bit for bit, and whether stopped sessions were unchanged.\n"
    "Without --prompt and --decode, calls are as long as fits 0.4 s: at most 512 and 128 tokens.\n"
    "\n"
    "The host's gap: in the same minutes, between the stops, as many threads as compute read the "
    "clock\n"
    "in a loop. For a moment drawn uniformly from each 5 ms, and as many moments as stops, it is "
    "the\n"
    "time until all of them have read the clock again: what a run that polls without pause would "
    "show.\n"
    "\n"
    "Slowdown: the same call with a token that never fires and without one, at least 40 pairs; a "
    "pair\n"
    "is two calls of each, one kind around the other: the median of the time ratios and its 95%\n"
    "interval by order statistics.\n"
    "\n"
    "--json: {\"model\", \"via\", \"threads\", \"prompt\": {...}, \"decode\": {...}}, each with "
    "stops,\n"
    "return_us and idle_us {min, median, p99, max}, host_gap_p99_us, slowdown_percent,\n"
    "slowdown_interval_percent [low, high], pairs, bits_equal, repeats, missed, tokens, "
    "undisturbed_us.\n"
    "The exit code is 1 if bits were not equal.\n\n"
    "Example:\n  tacet bench stop --stops 100 -m qwen2-0.5b.gguf --json";

struct BenchStopOptions {
  ModelOptions model;
  SessionOptions session;
  StopTrialOptions trials;
  std::uint32_t prompt = 0;
  std::uint32_t decode = 0;
  bool json = false;
};

Json to_json(const Summary& summary) {
  return {
      {"min", summary.min}, {"median", summary.median}, {"p99", summary.p99}, {"max", summary.max}};
}

Json to_json(const StopReport& report) {
  return {
      {"stops", report.stops},
      {"return_us", to_json(report.return_us)},
      {"idle_us", to_json(report.idle_us)},
      {"host_gap_p99_us", report.host_gap_p99_us},
      {"slowdown_percent", report.slowdown_percent.median},
      {"slowdown_interval_percent", {report.slowdown_percent.low, report.slowdown_percent.high}},
      {"pairs", report.pairs},
      {"bits_equal", report.bits_equal},
      {"repeats", report.repeats},
      {"missed", report.missed},
      {"tokens", report.tokens},
      {"undisturbed_us", report.undisturbed_us}};
}

void add_rows(Table& table, std::string_view name, const StopReport& report) {
  const auto row = [&](std::string what, const Summary& s) {
    table.add({std::move(what), fmt::format("{:.1f}", s.min), fmt::format("{:.1f}", s.median),
               fmt::format("{:.1f}", s.p99), fmt::format("{:.1f}", s.max)});
  };
  row(fmt::format("{}: stop to return", name), report.return_us);
  row(fmt::format("{}: stop to idle", name), report.idle_us);
  table.add({fmt::format("{}: gaps of the host", name), "", "",
             fmt::format("{:.1f}", report.host_gap_p99_us), ""});
}

std::string summary_line(std::string_view name, const StopReport& report) {
  return fmt::format(
      "{}: {} stops of {} tokens in {}; silent token {:+.2f}% [{:+.2f}, {:+.2f}] in {} pairs; "
      "{} repeats {}\n",
      name, report.stops, report.tokens,
      human_time(std::chrono::nanoseconds(
          static_cast<std::chrono::nanoseconds::rep>(report.undisturbed_us * 1e3))),
      report.slowdown_percent.median, report.slowdown_percent.low, report.slowdown_percent.high,
      report.pairs, report.repeats, report.bits_equal ? "equal bit for bit" : "NOT EQUAL");
}

Result<StopReport> measure_one(Result<StopTask> task, const StopTrialOptions& options) {
  if (!task) return fail(std::move(task));
  ProgressLine progress(fmt::format("stopping a {}", task->name));
  return measure_stops(
      *task, options, [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); });
}

/// The number that the user gave, or the one that fits, within the room of a session.
Result<std::uint32_t> call_tokens(const Model& model, const BenchStopOptions& options, bool prompt,
                                  std::uint32_t room) {
  const std::uint32_t given = prompt ? options.prompt : options.decode;
  if (given != 0) return std::min(given, room);
  return prompt ? fitting_prompt(model, options.session, std::min(512U, room), kCallTime)
                : fitting_decode(model, options.session, std::min(128U, room), kCallTime);
}

int bench_stop(BenchStopOptions options) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  options.trials.threads = options.model.threads == 0 ? cores : options.model.threads;
  tl::expected<Opened, int> opened = open_model(options.model);
  if (!opened) return opened.error();
  const Model& model = opened->model;
  Result<Session> session = model.new_session(options.session);
  if (!session) return complain(session.error());
  const std::uint32_t room = session->context();
  if (room < kLeastContext) {
    complain(
        fmt::format("A context of {} tokens is too small to measure stops; give --ctx {} or more.",
                    room, kLeastContext));
    return kUsage;
  }
  const std::uint32_t decode_room = room - kDecodePrompt;

  Result<std::uint32_t> prompt_tokens = call_tokens(model, options, true, room);
  if (!prompt_tokens) return complain(prompt_tokens.error());
  Result<std::uint32_t> decode_tokens = call_tokens(model, options, false, decode_room);
  if (!decode_tokens) return complain(decode_tokens.error());

  const Result<StopReport> prompt =
      measure_one(prompt_task(model, options.session, *prompt_tokens), options.trials);
  if (!prompt) return complain(prompt.error());
  const Result<StopReport> decode =
      measure_one(decode_task(model, options.session, *decode_tokens), options.trials);
  if (!decode) return complain(decode.error());

  int output = 0;
  if (options.json) {
    output = print_json({{"model", options.model.label()},
                         {"via", options.trials.via == StopVia::byte ? "byte" : "source"},
                         {"threads", options.trials.threads},
                         {"prompt", to_json(*prompt)},
                         {"decode", to_json(*decode)}});
  } else {
    Table table({"microseconds", ">min", ">median", ">p99", ">max"});
    add_rows(table, "prompt", *prompt);
    add_rows(table, "decode", *decode);
    output = print(options.model.label() + "\n" + table.text() + summary_line("prompt", *prompt) +
                   summary_line("decode", *decode));
  }
  if (output != 0) return output;
  if (prompt->bits_equal && decode->bits_equal) return kDone;
  complain(
      "A stopped call did not leave its session as it was; this is a defect, please report it.");
  return kFailed;
}

}  // namespace

void add_bench_stop(CLI::App& bench, Job& job) {
  CLI::App* command = bench.add_subcommand("stop", "Measure how fast work in flight stops");
  auto options = std::make_shared<BenchStopOptions>();
  add_model_options(*command, options->model);
  add_session_options(*command, options->session);
  options->session.share_prefix = false;  // all is to be computed
  command->add_option("--stops", options->trials.stops, "of each kind (default 400)")
      ->type_name("N")
      ->transform(whole_number(1, 1'000'000));
  command
      ->add_option("--pairs", options->trials.pairs,
                   "of timings for the slowdown (default: 40 to 400, for about 12 s)")
      ->type_name("N")
      ->transform(whole_number(1, 1'000'000));
  command->add_option("--prompt", options->prompt, "tokens of the prompt")
      ->type_name("N")
      ->transform(whole_number(1, kMostTokens));
  command->add_option("--decode", options->decode, "tokens of the answer")
      ->type_name("N")
      ->transform(whole_number(1, kMostTokens));
  command->add_option("--seed", options->trials.seed, "of the moments (default 1)")
      ->type_name("N")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  const std::map<std::string, StopVia> via = {{"source", StopVia::source}, {"byte", StopVia::byte}};
  command
      ->add_option_function<std::string>(
          "--via", [via, options](const std::string& v) { options->trials.via = via.at(v); },
          "what is stored: source, a StopSource's request (default), or byte, a byte of the "
          "caller's")
      ->type_name("KIND")
      ->check(one_of({"source", "byte"}));
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(kFooter);
  command->callback([&job, &bench, options] {
    for (const CLI::Option* option : bench.get_options())
      if (option->count() != 0)
        throw CLI::ArgumentMismatch(
            fmt::format("{} stands before 'stop'; write it behind", option->get_name()));
    job = [options] { return bench_stop(*options); };
  });
}

}  // namespace tacet::cli
