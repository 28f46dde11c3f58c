#include "tacet/bench_tasks.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "base/result.hpp"

namespace tacet::cli {
namespace {

using std::chrono::nanoseconds;

tl::unexpected<Error> not_done(const Outcome& outcome) {
  if (outcome.error) return tl::unexpected(*outcome.error);
  return fail(Code::internal, "A call that nobody stopped ended as '{}'; please report this.",
              name(outcome.status));
}

std::uint32_t fitting(std::uint32_t tried, nanoseconds took, std::uint32_t most, nanoseconds time) {
  const double each = static_cast<double>(std::max<nanoseconds::rep>(took.count(), 1)) / tried;
  const double fit = static_cast<double>(time.count()) / each;
  return fit >= most ? most : std::max<std::uint32_t>(static_cast<std::uint32_t>(fit), tried);
}

/// A session that has seen `prompt`.
Result<Session> after_prompt(const Model& model, const SessionOptions& options,
                             std::span<const Token> prompt) {
  Result<Session> session = model.new_session(options);
  if (!session) return session;
  const Outcome outcome = session->evaluate(prompt);
  if (!outcome.done()) return not_done(outcome);
  return session;
}

/// Prompts in the order of preference.
Result<std::vector<std::vector<Token>>> decode_prompts(const Model& model) {
  std::vector<std::vector<Token>> prompts;
  const std::array<ChatMessage, 1> story{{{"user", "Tell me a story about a fox."}}};
  if (const Result<std::string> text = model.render_chat(story)) {
    Result<std::vector<Token>> tokens = model.tokenize(*text, true);
    if (!tokens) return fail(std::move(tokens));
    prompts.push_back(std::move(*tokens));
  }
  const std::vector<Token> noise = some_tokens(model, 64);
  for (std::size_t i = 0; i < 8; ++i)
    prompts.emplace_back(noise.begin() + static_cast<std::ptrdiff_t>(8 * i),
                         noise.begin() + static_cast<std::ptrdiff_t>(8 * i + 8));
  return prompts;
}

}  // namespace

std::vector<Token> some_tokens(const Model& model, std::size_t count) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<Token> id(0, static_cast<Token>(model.info().vocabulary) - 1);
  std::vector<Token> tokens(count);
  for (Token& token : tokens) do
      token = id(random);
    while (model.is_end(token));
  return tokens;
}

Result<std::uint32_t> fitting_prompt(const Model& model, const SessionOptions& options,
                                     std::uint32_t most, nanoseconds time) {
  const std::uint32_t tried = std::min<std::uint32_t>(most, 32);
  nanoseconds took{};
  for (int i = 0; i < 2; ++i) {
    Result<Session> session = model.new_session(options);
    if (!session) return fail(std::move(session));
    const std::vector<Token> prompt = some_tokens(model, tried);
    const Clock::time_point begin = Clock::now();
    const Outcome outcome = session->evaluate(prompt);
    took = Clock::now() - begin;
    if (!outcome.done()) return not_done(outcome);
  }
  return fitting(tried, took, most, time);
}

Result<std::uint32_t> fitting_decode(const Model& model, const SessionOptions& options,
                                     std::uint32_t most, nanoseconds time) {
  const std::uint32_t tried = std::min<std::uint32_t>(most, 4);
  const std::vector<Token> tokens = some_tokens(model, tried + 1);
  Result<Session> session = after_prompt(model, options, std::span(tokens).first(1));
  if (!session) return fail(std::move(session));
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const Outcome outcome = session->evaluate(std::span(tokens).subspan(i, 1));
    if (!outcome.done()) return not_done(outcome);
  }
  return fitting(tried, Clock::now() - begin, most, time);
}

Result<StopTask> prompt_task(const Model& model, const SessionOptions& options,
                             std::uint32_t tokens) {
  Result<Session> session = model.new_session(options);
  if (!session) return fail(std::move(session));
  const std::vector<Token> prompt = some_tokens(model, tokens);
  StopTask task{"prompt", std::move(*session), {}, {}, tokens};
  task.call = [prompt](Session& on, const StopToken& stop) { return on.evaluate(prompt, stop); };
  task.again = [prompt](Session& on, const Outcome&) { return on.evaluate(prompt); };
  return task;
}

Result<StopTask> decode_task(const Model& model, const SessionOptions& options,
                             std::uint32_t tokens) {
  Result<std::vector<std::vector<Token>>> prompts = decode_prompts(model);
  if (!prompts) return fail(std::move(prompts));
  std::optional<Session> best;
  std::uint32_t most = 0;
  GenerateOptions generate;
  generate.max_tokens = tokens;
  const TextFunction ignore = [](std::string_view) {};
  for (const std::vector<Token>& prompt : *prompts) {
    Result<Session> session = after_prompt(model, options, prompt);
    if (!session) return fail(std::move(session));
    Result<Session> trial = session->fork();
    if (!trial) return fail(std::move(trial));
    const Outcome outcome = trial->generate(generate, ignore);
    if (!outcome.done()) return not_done(outcome);
    if (outcome.tokens <= most) continue;
    most = outcome.tokens;
    best.emplace(std::move(*session));
    if (most >= std::min<std::uint32_t>(tokens, 48)) break;
  }
  if (!best)
    return fail(
        Code::unsupported,
        "The model ends every answer at once, so no decoding can be measured; use another.");

  StopTask task{"decode", std::move(*best), {}, {}, most};
  task.call = [generate, ignore](Session& on, const StopToken& stop) {
    return on.generate(generate, ignore, stop);
  };
  task.again = [generate, ignore](Session& on, const Outcome& stopped) {
    GenerateOptions rest = generate;
    rest.max_tokens -= stopped.tokens;
    return rest.max_tokens == 0 ? Outcome() : on.generate(rest, ignore);
  };
  return task;
}

}  // namespace tacet::cli
