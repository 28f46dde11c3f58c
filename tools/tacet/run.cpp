#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>

#include "base/result.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/conversation.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/outcome_json.hpp"
#include "tacet/run_options.hpp"
#include "text/utf8.hpp"

namespace tacet::cli {
namespace {

constexpr std::size_t kLongestPipe = 64 << 20;

/// All of standard input, without the newline at its end.
Result<std::string> read_pipe() {
  std::string text;
  std::string block(1 << 16, '\0');
  for (;;) {
    const Result<std::size_t> size = read_input(block.data(), block.size());
    if (!size) return tl::unexpected(size.error());
    if (*size == 0) break;
    text.append(block, 0, *size);
    if (text.size() > kLongestPipe)
      return fail(Code::invalid_argument,
                  "The prompt on standard input is longer than 64 MiB; give a shorter one.");
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

int usage_error(std::string_view sentence) {
  complain(sentence);
  return kUsage;
}

/// kUsage, with a message, if `text` is not UTF-8; else 0.
int check_text(std::string_view what, std::string_view text) {
  if (check_utf8(text)) return 0;
  return usage_error(
      fmt::format("The {} is not UTF-8 from byte {} on; convert it first, for example with iconv.",
                  what, valid_utf8_prefix(text)));
}

Json answer_json(const Answer& answer) {
  const auto rate = [](std::uint32_t tokens, std::chrono::nanoseconds time) {
    return time.count() > 0 ? tokens / std::chrono::duration<double>(time).count() : 0.0;
  };
  return {{"text", answer.text},
          {"tokens", answer.answer_tokens},
          {"token_ids", answer.token_ids},
          {"finish", name(answer.outcome.finish)},
          {"outcome", to_json(answer.outcome)},
          {"timings",
           {{"prompt_tokens", answer.prompt_tokens},
            {"prompt_us", microseconds(answer.prompt_time)},
            {"prompt_tokens_per_second", rate(answer.prompt_tokens, answer.prompt_time)},
            {"decode_tokens", answer.answer_tokens},
            {"decode_us", microseconds(answer.answer_time)},
            {"decode_tokens_per_second", rate(answer.answer_tokens, answer.answer_time)}}}};
}

int answer_once(const Model& model, const RunOptions& options, std::string_view prompt) {
  const Interruptible work;
  Result<Conversation> conversation = open_conversation(model, options, work.token());
  if (!conversation) {
    const int code = complain(conversation.error());
    return work.signal() != 0 ? work.exit_code() : code;
  }
  StopSource reader_left;
  const std::array tokens{answer_token(work, options.generation), reader_left.token()};
  const StopToken stop = StopToken::any(tokens);
  int output = 0;
  const TextFunction on_text = [&](std::string_view text) {
    if (options.json || output != 0) return;
    output = print(text, stop);
    if (output != 0) reader_left.request_stop();
  };
  const GenerateOptions& generate = options.generation.generate;
  Result<Answer> answer = options.raw ? conversation->complete(prompt, generate, on_text, stop)
                                      : conversation->ask(prompt, generate, on_text, stop);
  const Clock::time_point returned = Clock::now();
  if (!answer) {
    const int code = complain(answer.error());
    return work.signal() != 0 ? work.exit_code() : code;
  }

  count_from_signal(answer->outcome, work, returned);
  const Outcome& outcome = answer->outcome;
  const bool line_ends = outcome.done() || !answer->text.empty();
  if (output == 0 && options.json) output = print_json(answer_json(*answer));
  if (output == 0 && !options.json && line_ends) output = print("\n", stop);
  if (output != 0) return output;
  int code = outcome.stopped() ? kDeadline : kDone;
  if (outcome.error) code = complain(said_here(*answer, conversation->session()));
  if (outcome.stopped() && !options.json) note_stop(outcome);
  return keep(*conversation, options, work.signal() != 0 ? work.exit_code() : code);
}

int run(const RunOptions& options, const std::vector<std::string>& words) {
  const bool piped = words.empty() && ::isatty(STDIN_FILENO) == 0;
  const bool talk = words.empty() && !piped;
  if (talk && options.json)
    return usage_error("--json needs a prompt; give one as an argument or through a pipe.");
  if (talk && options.raw)
    return usage_error("--raw needs a prompt; give one as an argument or through a pipe.");
  if (options.raw && !options.system.empty())
    return usage_error("--system has no place in a --raw prompt; leave out one of them.");
  for (const std::string& stop : options.generation.generate.stop) {
    if (stop.empty())
      return usage_error("An empty --stop text would end every answer; give some text.");
    if (const int code = check_text("--stop text", stop); code != 0) return code;
  }
  if (const int code = check_text("--system text", options.system); code != 0) return code;

  std::string prompt = fmt::format("{}", fmt::join(words, " "));
  if (piped) {
    Result<std::string> text = read_pipe();
    if (!text) return complain(text.error());
    prompt = std::move(*text);
  }
  if (!talk && prompt.empty())
    return usage_error("The prompt is empty; ask something, such as \"What is 17 + 25?\".");
  if (const int code = check_text("prompt", prompt); code != 0) return code;

  tl::expected<Opened, int> opened = open_model(options.model);
  if (!opened) return opened.error();
  return talk ? chat(opened->model, options) : answer_once(opened->model, options, prompt);
}

}  // namespace

StopToken answer_token(const Interruptible& work, const GenerationFlags& flags) {
  if (!flags.deadline) return work.token();
  const std::array tokens{work.token(), StopToken::after(*flags.deadline)};
  return StopToken::any(tokens);
}

void count_from_signal(Outcome& outcome, const Interruptible& work, Clock::time_point returned) {
  if (work.signal() == 0 || !outcome.stopped() || outcome.reason != StopReason::requested) return;
  const std::chrono::nanoseconds whole = returned - work.when();
  outcome.to_idle += whole - outcome.to_return;
  outcome.to_return = whole;
}

Result<Conversation> open_conversation(const Model& model, const RunOptions& options,
                                       const StopToken& stop) {
  std::error_code unknown;
  if (options.file.empty() || !std::filesystem::exists(options.file, unknown))
    return Conversation::start(model, options.session, options.system);
  const SessionOptions& asked = options.session;
  const SessionOptions usual;
  if (!options.system.empty() || asked.window != usual.window || asked.k_type != usual.k_type ||
      asked.v_type != usual.v_type)
    return fail(Code::invalid_argument,
                "--system, --kv and --window are settled when a conversation begins; leave them "
                "out, or name another file.");
  auto conversation = Conversation::restore(model, options.file, options.session.context, stop);
  if (!conversation || conversation->session().tokens().empty() ||
      conversation->raw() == options.raw)
    return conversation;
  return fail(Code::invalid_argument, "'{}' holds a {}; go on with it {} --raw.", options.file,
              conversation->raw() ? "text without the chat template" : "chat",
              conversation->raw() ? "with" : "without");
}

int keep(Conversation& conversation, const RunOptions& options, int code) {
  if (options.file.empty()) return code;
  const Result<void> saved = conversation.save(options.file);
  return saved ? code : complain(saved.error());
}

Error said_here(const Answer& answer, const Session& session) {
  const Error& error = *answer.outcome.error;
  if (error.code() != Code::context_full) return error;
  if (answer.answer_tokens != 0)
    return Error(error.code(),
                 fmt::format("The context of {} tokens is full, so the answer ends here; give a "
                             "larger --ctx, or end answers with -n.",
                             session.context()));
  return Error(error.code(), fmt::format("{} The option --ctx sets it.", error.message()));
}

void note_stop(const Outcome& outcome) {
  // After a stop nobody is waited for.
  note(fmt::format("[stopped: {}, {}]\n", name(outcome.reason), human_time(outcome.to_return)),
       StopToken::after(std::chrono::nanoseconds(0)));
}

void add_run(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("run", "Answer a prompt, or chat if there is none");
  auto options = std::make_shared<RunOptions>();
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("PROMPT", *words,
                      "what to answer; words are joined (default: a pipe's text, "
                      "or a chat on a terminal)");
  add_model_options(*command, options->model);
  add_session_options(*command, options->session);
  add_generation_options(*command, options->generation);
  command->add_option("--system", options->system, "instructions before the conversation")
      ->type_name("TEXT");
  command
      ->add_option(
          "--session", options->file,
          "go on with the conversation of this file, and keep it there; a new one if there "
          "is none (it is not encrypted)")
      ->type_name("FILE")
      ->check(path_given("name a file, or leave the option out"));
  command->add_flag("--raw", options->raw,
                    "continue the prompt as it is, without the chat template; control tokens may "
                    "be written out");
  command->add_flag("--json", options->json, "print one JSON object when the answer has ended");
  command->footer(
      "In a chat, Ctrl-C stops the answer and keeps the conversation; at the prompt it leaves.\n"
      "/exit or Ctrl-D leaves too, /clear begins anew, /help lists the commands.\n"
      "In a prompt without --raw, control tokens such as <|im_end|> are plain text.\n"
      "The last newline of a pipe is dropped.\n\n"
      "Example:\n  tacet run \"What is 17 + 25?\"\n"
      "  echo \"Tell me a story about a fox.\" | tacet run --deadline 200ms --json");
  command->callback(
      [&job, options, words] { job = [options, words] { return run(*options, *words); }; });
}

}  // namespace tacet::cli
