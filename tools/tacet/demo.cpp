#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/result.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/conversation.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {
namespace {

constexpr const char* kQuestion = "What is 17 + 25?";
constexpr const char* kStory = "Tell me a story about a fox.";
constexpr std::size_t kStopAfter = 90;  ///< bytes of the story

/// Streams to standard output and keeps the first exit code that is not 0.
class Stream {
 public:
  void operator()(std::string_view text) {
    if (code_ == 0) code_ = print(text);
  }
  int code() const noexcept { return code_; }

 private:
  int code_ = 0;
};

int complain_unfinished(const Answer& answer) {
  if (answer.outcome.error) return complain(*answer.outcome.error);
  return kFailed;
}

/// The story, stopped from another thread while it is being told.
Result<Answer> interrupted_story(Conversation& chat, Stream& out) {
  StopSource source;
  std::atomic<std::size_t> told = 0;
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    while (told.load() < kStopAfter && !ended.load())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    source.request_stop();
  });
  Result<Answer> answer = chat.ask(
      kStory, {},
      [&](std::string_view text) {
        out(text);
        told += text.size();
      },
      source.token());
  ended = true;
  listener.join();
  return answer;
}

int demo(const ModelOptions& options) {
  tl::expected<Opened, int> opened = open_model(options);
  if (!opened) return opened.error();
  Result<Conversation> first = Conversation::start(opened->model, {});
  if (!first) return complain(first.error());
  Result<Conversation> second = Conversation::start(opened->model, {});
  if (!second) return complain(second.error());
  Result<Conversation> undisturbed = Conversation::start(opened->model, {});
  if (!undisturbed) return complain(undisturbed.error());

  Stream out;
  const TextFunction on_text = [&out](std::string_view text) { out(text); };
  const ModelInfo& info = opened->model.info();
  out(fmt::format("{}: {}, {} parameters, {}\n\n> {}\n", options.label(), info.architecture,
                  human_count(static_cast<double>(info.parameters)), info.types, kQuestion));
  Result<Answer> sum = first->ask(kQuestion, {}, on_text);
  if (!sum) return complain(sum.error());
  if (!sum->outcome.done()) return complain_unfinished(*sum);

  out(fmt::format("\n\n> {}\n", kStory));
  Result<Answer> story = interrupted_story(*second, out);
  if (!story) return complain(story.error());
  const Outcome& outcome = story->outcome;
  if (outcome.error) return complain_unfinished(*story);
  if (outcome.done()) {
    out("\n\nThe story was over before the stop; run it again.\n");
    return out.code();
  }
  out(
      fmt::format("\n\n[{}: {}; {} after the request the device was idle, {} after it the call "
                  "returned; {} tokens are kept]\n\n... ",
                  name(outcome.status), name(outcome.reason), human_time(outcome.to_idle),
                  human_time(outcome.to_return), story->answer_tokens));

  const Answer rest = second->resume({}, on_text);
  if (!rest.outcome.done()) return complain_unfinished(rest);
  Result<Answer> whole = undisturbed->ask(kStory, {}, [](std::string_view) {});
  if (!whole) return complain(whole.error());
  if (!whole->outcome.done()) return complain_unfinished(*whole);
  const auto tokens = [](const Conversation& chat) {
    const std::span<const Token> all = chat.session().tokens();
    return std::vector<Token>(all.begin(), all.end());
  };
  const bool equal = tokens(*second) == tokens(*undisturbed);
  out(fmt::format("\n\n[the same session went on; told without a stop the story has {}]\n",
                  equal ? fmt::format("the same {} tokens", whole->answer_tokens)
                        : std::string("OTHER TOKENS, which is a defect")));
  if (out.code() != 0) return out.code();
  return equal ? kDone : kFailed;
}

}  // namespace

void add_demo(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("demo", "An answer, and a story that is stopped on cue");
  auto options = std::make_shared<ModelOptions>();
  add_model_options(*command, *options);
  command->footer("Example:\n  tacet demo");
  command->callback([&job, options] { job = [options] { return demo(*options); }; });
}

}  // namespace tacet::cli
