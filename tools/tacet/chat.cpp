#include <array>
#include <csignal>

#include <iostream>

#include "tacet/console.hpp"
#include "tacet/conversation.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/run_options.hpp"
#include "text/utf8.hpp"

namespace tacet::cli {
namespace {

/// One question and its answer. Returns an exit code if the chat can not go on, else 0.
int turn(Conversation& conversation, const RunOptions& options, std::string_view line) {
  const Interruptible work;
  StopSource reader_left;
  const std::array tokens{answer_token(work, options.generation), reader_left.token()};
  int output = 0;
  Result<Answer> answer = conversation.ask(
      line, options.generation.generate,
      [&](std::string_view text) {
        if (output == 0) output = print(text);
        if (output != 0) reader_left.request_stop();
      },
      StopToken::any(tokens));
  const Clock::time_point returned = Clock::now();
  if (output == 0) output = print("\n");
  if (output != 0) return output;
  if (work.signal() == SIGTERM) return work.exit_code();
  if (!answer) {
    complain(answer.error());
    return 0;
  }
  count_from_signal(answer->outcome, work, returned);
  const Outcome& outcome = answer->outcome;
  if (outcome.stopped()) note_stop(outcome);
  if (!outcome.error) return 0;
  complain(*outcome.error);
  if (outcome.error->code() == Code::context_full) note("[/clear begins a new conversation]\n");
  return outcome.error->code() == Code::device_lost ? kFailed : 0;
}

}  // namespace

int chat(const Model& model, const RunOptions& options) {
  Result<Conversation> conversation = Conversation::start(model, options.session, options.system);
  if (!conversation) return complain(conversation.error());
  for (std::string line;;) {
    if (const int output = print("> "); output != 0) return output;
    if (!std::getline(std::cin, line)) return print("\n");
    if (line == "/exit") return kDone;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line == "/clear") {
      if (Result<void> cleared = conversation->clear(); !cleared) return complain(cleared.error());
      continue;
    }
    if (!check_utf8(line)) {
      complain("This line is not UTF-8; set the terminal to UTF-8 and type it again.");
      continue;
    }
    if (const int code = turn(*conversation, options, line); code != 0) return code;
  }
}

}  // namespace tacet::cli
