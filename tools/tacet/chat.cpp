#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "tacet/console.hpp"
#include "tacet/conversation.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/run_options.hpp"
#include "text/utf8.hpp"

namespace tacet::cli {
namespace {

constexpr std::string_view kCommands =
    "[/clear begins a new conversation, /exit or Ctrl-D leaves, Ctrl-C stops an answer]\n";

/// The lines of standard input. Not std::cin, which takes a descriptor without data for its end.
class Lines {
 public:
  /// The next line without its end, or nothing at the end of the input.
  Result<std::optional<std::string>> next() {
    for (std::size_t searched = 0;;) {
      const std::size_t end = held_.find('\n', searched);
      if (end != std::string::npos) return cut(end, 1);
      searched = held_.size();
      std::array<char, 4096> block{};
      const Result<std::size_t> got = read_input(block.data(), block.size());
      if (!got) return tl::unexpected(got.error());
      if (*got == 0 && held_.empty()) return std::nullopt;
      if (*got == 0) return cut(held_.size(), 0);
      held_.append(block.data(), *got);
    }
  }

 private:
  std::string cut(std::size_t end, std::size_t more) {
    std::string line = held_.substr(0, end);
    held_.erase(0, end + more);
    return line;
  }

  std::string held_;
};

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = line.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blank) + 1 - first);
}

/// Whether a line is "/" and one word, which is then no question.
bool is_command(std::string_view line) {
  return line.starts_with('/') &&
         std::all_of(line.begin() + 1, line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// One question and its answer. Returns an exit code if the chat can not go on, else 0.
int turn(Conversation& conversation, const RunOptions& options, std::string_view line) {
  const Interruptible work;
  StopSource reader_left;
  const std::array tokens{answer_token(work, options.generation), reader_left.token()};
  const StopToken stop = StopToken::any(tokens);
  int output = 0;
  Result<Answer> answer = conversation.ask(
      line, options.generation.generate,
      [&](std::string_view text) {
        if (output == 0) output = print(text, stop);
        if (output != 0) reader_left.request_stop();
      },
      stop);
  const Clock::time_point returned = Clock::now();
  if (output == 0) output = print("\n", stop);
  if (output != 0) return output;
  if (work.signal() != 0 && work.signal() != SIGINT) return work.exit_code();
  if (!answer) {
    complain(answer.error());
    return 0;
  }
  count_from_signal(answer->outcome, work, returned);
  const Outcome& outcome = answer->outcome;
  if (outcome.stopped()) note_stop(outcome);
  if (!outcome.error) return 0;
  const Session& session = conversation.session();
  complain(said_here(*answer, session));
  const bool new_one_helps = answer->fits_alone && !session.tokens().empty();
  if (outcome.error->code() == Code::context_full && new_one_helps)
    note("[/clear begins a new conversation]\n");
  return outcome.error->code() == Code::device_lost ? kFailed : 0;
}

/// Turns, until /exit or the end of the input. Returns the exit code.
int talk(Conversation& conversation, const RunOptions& options) {
  for (Lines lines;;) {
    if (const int output = print("> "); output != 0) return output;
    const Result<std::optional<std::string>> typed = lines.next();
    if (!typed) return complain(typed.error());
    if (!*typed) return print("\n");
    const std::string_view line = trimmed(**typed);
    if (line.empty()) continue;
    if (line == "/exit" || line == "/quit") return kDone;
    if (line == "/clear") {
      if (Result<void> cleared = conversation.clear(); !cleared) return complain(cleared.error());
      continue;
    }
    if (is_command(line)) {
      note(kCommands);
      continue;
    }
    if (!check_utf8(line)) {
      complain("This line is not UTF-8; set the terminal to UTF-8 and type it again.");
      continue;
    }
    if (const int code = turn(conversation, options, line); code != 0) return code;
  }
}

}  // namespace

int chat(const Model& model, const RunOptions& options) {
  Result<Conversation> conversation = open_conversation(model, options, {});
  if (!conversation) return complain(conversation.error());
  return keep(*conversation, options, talk(*conversation, options));
}

}  // namespace tacet::cli
