#include <fmt/format.h>

#include <functional>
#include <memory>

#include "base/result.hpp"
#include "tacet/bench_tasks.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/generation_options.hpp"
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
  std::uint32_t answer = 0;
  SamplerOptions sampler;
  std::uint32_t repeat = 5;
  bool json = false;
};

struct Speed {
  std::string test;
  Summary tokens_per_second;
};

double per_second(std::size_t tokens, Clock::time_point begin) {
  return static_cast<double>(tokens) / std::chrono::duration<double>(Clock::now() - begin).count();
}

/// How fast a session which has `past` computes `tokens`, `rows` of them in a call.
Result<double> speed_alone(const Model& model, const SessionOptions& options,
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
  return per_second(tokens.size(), begin);
}

/// How fast an answer of `count` tokens to `prompt` comes; the model may end it before.
Result<double> speed_of_answer(const Model& model, const BenchOptions& options,
                               std::span<const Token> prompt, std::uint32_t count) {
  Result<Session> session = model.new_session(options.session);
  if (!session) return fail(std::move(session));
  if (const Outcome outcome = session->evaluate(prompt); outcome.error)
    return tl::unexpected(*outcome.error);
  const Clock::time_point begin = Clock::now();
  const Outcome outcome = session->generate({.max_tokens = count, .sampler = options.sampler}, {});
  if (outcome.error) return tl::unexpected(*outcome.error);
  return per_second(outcome.tokens, begin);
}

/// How fast several sessions compute `tokens` each, one at a time, in common runs.
Result<double> speed_together(const Model& model, const BenchOptions& options,
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
  return per_second(tokens.size() * sessions.size(), begin);
}

/// What `speed` says each time.
template <typename Measured>
Result<Speed> measure(const BenchOptions& options, std::string name, ProgressLine& progress,
                      const Measured& speed) {
  std::vector<double> speeds;
  // The first round only warms up.
  for (std::uint32_t round = 0; round <= options.repeat; ++round) {
    progress.show(round, options.repeat + 1);
    Result<double> tokens_per_second = speed();
    if (!tokens_per_second) return fail(std::move(tokens_per_second));
    if (round > 0) speeds.push_back(*tokens_per_second);
  }
  return Speed{std::move(name), summarize(std::move(speeds))};
}

int bench(const BenchOptions& options) {
  if (options.prompt == 0 && options.decode == 0 && options.answer == 0) {
    complain(
        "--prompt 0 and --decode 0 leave nothing to measure; give one of them, or --answer, "
        "tokens.");
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
    const std::uint32_t prompt = std::min(options.prompt, room);
    const std::uint32_t decode = std::min(options.decode, room);
    const std::uint32_t depth = std::min(options.depth, room - decode);
    const std::uint32_t asked = std::min(8U, room);
    const std::uint32_t answer = std::min(options.answer, room - asked);
    const std::vector<Token> tokens = some_tokens(model, std::max({prompt, decode, depth, asked}));
    const auto first = [&](std::uint32_t count) { return std::span(tokens).first(count); };
    const auto alone = [&](std::uint32_t past, std::uint32_t count, std::size_t rows) {
      return [&, past, count, rows] {
        return speed_alone(model, options.session, first(past), first(count), rows);
      };
    };
    const std::string at = depth != 0 ? fmt::format(" @{}", depth) : "";
    struct Test {
      bool wanted;
      std::string name;
      std::function<Result<double>()> speed;
    };
    const Test tests[] = {
        {prompt != 0, fmt::format("pp{}", prompt), alone(0, prompt, prompt)},
        {decode != 0, fmt::format("tg{}{}", decode, at), alone(depth, decode, 1)},
        {decode != 0 && options.sessions > 1, fmt::format("tg{} x{}", decode, options.sessions),
         [&] { return speed_together(model, options, first(decode)); }},
        {answer != 0, fmt::format("an{}", answer),
         [&] { return speed_of_answer(model, options, first(asked), answer); }}};
    for (const Test& test : tests) {
      if (!test.wanted) continue;
      Result<Speed> speed = measure(options, test.name, progress, test.speed);
      if (!speed) return complain(speed.error());
      speeds.push_back(std::move(*speed));
    }
  }

  if (speeds.empty()) {
    complain(
        fmt::format("A context of {} tokens has no room for an answer to a prompt of 8; "
                    "enlarge it with --ctx.",
                    room));
    return kUsage;
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
  command
      ->add_option("--answer", options->answer,
                   "also an answer of N tokens, with the sampler (default 0: skip it)")
      ->type_name("N")
      ->transform(whole_number(0, kMostTokens));
  add_sampler_options(*command, options->sampler);
  command->add_option("--repeat", options->repeat, "how often each is measured (default 5)")
      ->type_name("N")
      ->transform(whole_number(1, 10000));
  command->add_flag("--json", options->json, "print a JSON array");
  command->footer(
      "pp512 is a prompt of 512 tokens in one call, tg128 128 tokens in a call each, without a\n"
      "sampler; both in an empty context, and shorter where it has less room. tg128 @4000 are\n"
      "128 behind 4000 others, tg128 x8 are 8 sessions in common runs, all their tokens counted.\n"
      "an128 is an answer of up to 128 tokens to a prompt of 8, as run and chat generate it.\n"
      "--json: [{\"test\": \"pp512\", \"model\", \"tokens_per_second\": {\"min\", \"median\", "
      "\"max\"}}, ...]\n\n"
      "Example:\n  tacet bench -m qwen2-0.5b.gguf --repeat 3\n  tacet bench stop --help");
  command->callback([&job, options, command] {
    if (command->get_subcommands().empty()) job = [options] { return bench(*options); };
  });
  add_bench_stop(*command, job);
}

}  // namespace tacet::cli
