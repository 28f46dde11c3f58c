#include <fmt/format.h>

#include <memory>

#include "base/result.hpp"
#include "tacet/bench_tasks.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/options.hpp"
#include "tacet/statistics.hpp"

namespace tacet::cli {
namespace {

struct BenchOptions {
  ModelOptions model;
  SessionOptions session;
  std::uint32_t prompt = 512;
  std::uint32_t decode = 128;
  std::uint32_t depth = 0;
  std::uint32_t sessions = 1;
  std::uint32_t repeat = 5;
  bool json = false;
};

struct Speed {
  std::string test;
  Summary tokens_per_second;
};

/// Seconds that a session which has `past` needs for `tokens`, `rows` of them in a call.
Result<double> seconds(const Model& model, const SessionOptions& options,
                       std::span<const Token> past, std::span<const Token> tokens,
                       std::size_t rows) {
  Result<Session> session = model.new_session(options);
  if (!session) return fail(std::move(session));
  if (!past.empty())
    if (const Outcome outcome = session->evaluate(past); outcome.error)
      return tl::unexpected(*outcome.error);
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < tokens.size(); i += rows) {
    const Outcome outcome = session->evaluate(tokens.subspan(i, std::min(rows, tokens.size() - i)));
    if (outcome.error) return tl::unexpected(*outcome.error);
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds that several sessions need for `tokens` each, one at a time, in common runs.
Result<double> seconds_together(const Model& model, const BenchOptions& options,
                                std::span<const Token> tokens) {
  std::vector<Session> sessions;
  sessions.reserve(options.sessions);
  for (std::uint32_t i = 0; i < options.sessions; ++i) {
    Result<Session> session = model.new_session(options.session);
    if (!session) return fail(std::move(session));
    sessions.push_back(std::move(*session));
  }
  const Clock::time_point begin = Clock::now();
  for (const Token& token : tokens) {
    std::vector<SessionCall> calls;
    calls.reserve(sessions.size());
    for (Session& session : sessions) calls.push_back({&session, {&token, 1}});
    Result<std::vector<Run>> runs = submit_together(calls);
    if (!runs) return fail(std::move(runs));
    for (Run& run : *runs)
      if (const Outcome& outcome = run.wait(); outcome.error) return tl::unexpected(*outcome.error);
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// How fast `seconds` computes `count` tokens.
template <typename Seconds>
Result<Speed> measure(const BenchOptions& options, std::string name, std::uint32_t count,
                      ProgressLine& progress, const Seconds& seconds) {
  std::vector<double> speeds;
  // The first round only warms up.
  for (std::uint32_t round = 0; round <= options.repeat; ++round) {
    progress.show(round, options.repeat + 1);
    Result<double> time = seconds();
    if (!time) return fail(std::move(time));
    if (round > 0) speeds.push_back(count / *time);
  }
  return Speed{std::move(name), summarize(std::move(speeds))};
}

int bench(const BenchOptions& options) {
  if (options.prompt == 0 && options.decode == 0) {
    complain("--prompt 0 and --decode 0 leave nothing to measure; give one of them tokens.");
    return kUsage;
  }
  tl::expected<Opened, int> opened = open_model(options.model);
  if (!opened) return opened.error();
  Result<Session> session = opened->model.new_session(options.session);
  if (!session) return complain(session.error());
  const std::uint32_t room = session->context();

  std::vector<Speed> speeds;
  {
    ProgressLine progress("measuring");
    const Model& model = opened->model;
    const auto add = [&](std::string name, std::uint32_t count, const auto& time) -> Result<void> {
      if (count == 0) return {};
      Result<Speed> speed = measure(options, std::move(name), count, progress, time);
      if (!speed) return fail(std::move(speed));
      speeds.push_back(std::move(*speed));
      return {};
    };
    const std::uint32_t prompt = std::min(options.prompt, room);
    const std::uint32_t decode = std::min(options.decode, room);
    const std::uint32_t depth = std::min(options.depth, room - decode);
    const std::vector<Token> tokens = some_tokens(model, std::max({prompt, decode, depth}));
    const auto first = [&](std::uint32_t count) { return std::span(tokens).first(count); };
    const auto alone = [&](std::uint32_t past, std::uint32_t count, std::size_t rows) {
      return [&, past, count, rows] {
        return seconds(model, options.session, first(past), first(count), rows);
      };
    };
    const auto together = [&] { return seconds_together(model, options, first(decode)); };
    if (Result<void> r = add(fmt::format("pp{}", prompt), prompt, alone(0, prompt, prompt)); !r)
      return complain(r.error());
    const std::string at = depth != 0 ? fmt::format(" @{}", depth) : "";
    if (Result<void> r = add(fmt::format("tg{}{}", decode, at), decode, alone(depth, decode, 1));
        !r)
      return complain(r.error());
    if (options.sessions > 1)
      if (Result<void> r = add(fmt::format("tg{} x{}", decode, options.sessions),
                               decode * options.sessions, together);
          !r)
        return complain(r.error());
  }

  Json json = Json::array();
  Table table({"test", ">min", ">median", ">max", "tokens/s"});
  for (const auto& [test, speed] : speeds) {
    json.push_back({{"test", test},
                    {"model", options.model.label()},
                    {"tokens_per_second",
                     {{"min", speed.min}, {"median", speed.median}, {"max", speed.max}}}});
    table.add({test, fmt::format("{:.1f}", speed.min), fmt::format("{:.1f}", speed.median),
               fmt::format("{:.1f}", speed.max)});
  }
  return options.json ? print_json(json) : print(options.model.label() + "\n" + table.text());
}

}  // namespace

void add_bench(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("bench", "Measure tokens per second, or stops");
  auto options = std::make_shared<BenchOptions>();
  add_model_options(*command, options->model);
  add_session_options(*command, options->session);
  options->session.share_prefix = false;  // all is to be computed
  command->add_option("--prompt", options->prompt, "tokens of the prompt (default 512; 0: skip it)")
      ->type_name("N")
      ->transform(whole_number(0, kMostTokens));
  command->add_option("--decode", options->decode, "tokens one by one (default 128; 0: skip it)")
      ->type_name("N")
      ->transform(whole_number(0, kMostTokens));
  command
      ->add_option("--depth", options->depth,
                   "tokens that are in the context before those one by one (default 0)")
      ->type_name("N")
      ->transform(whole_number(0, kMostTokens));
  command
      ->add_option("--sessions", options->sessions,
                   "also the tokens one by one of N sessions in common runs (default 1: not)")
      ->type_name("N")
      ->transform(whole_number(1, 512));
  command->add_option("--repeat", options->repeat, "how often each is measured (default 5)")
      ->type_name("N")
      ->transform(whole_number(1, 10000));
  command->add_flag("--json", options->json, "print a JSON array");
  command->footer(
      "pp512 is a prompt of 512 tokens in one call, tg128 128 tokens in a call each, without a\n"
      "sampler; both in an empty context, and shorter where it has less room. tg128 @4000 are\n"
      "128 behind 4000 others, tg128 x8 are 8 sessions in common runs, all their tokens counted.\n"
      "--json: [{\"test\": \"pp512\", \"model\", \"tokens_per_second\": {\"min\", \"median\", "
      "\"max\"}}, ...]\n\n"
      "Example:\n  tacet bench -m qwen2-0.5b.gguf --repeat 3\n  tacet bench stop --help");
  command->callback([&job, options, command] {
    if (command->get_subcommands().empty()) job = [options] { return bench(*options); };
  });
  add_bench_stop(*command, job);
}

}  // namespace tacet::cli
