#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "tacet/engine.hpp"

/// The work that bench/silent_token counts: a prompt and an answer on one thread, with a token that
/// never fires or without.
int main(int count, char** arguments) {
  using namespace tacet;
  if (count != 3) {
    std::fputs("usage: silent_token MODEL none|source|byte|deadline\n", stderr);
    return 2;
  }
  const std::string_view kind = arguments[2];
  StopSource source;
  const unsigned char byte = 0;
  StopToken token;
  if (kind == "source") token = source.token();
  if (kind == "byte") token = StopToken::byte(&byte);
  if (kind == "deadline") token = StopToken::after(std::chrono::hours(1));

  const auto engine = Engine::create({.threads = 1});
  const auto model =
      engine ? engine->load(std::string(arguments[1])) : tl::unexpected(engine.error());
  auto session =
      model ? model->new_session({.share_prefix = false}) : tl::unexpected(model.error());
  if (!session) {
    fmt::print(stderr, "{}\n", session.error().message());
    return 1;
  }
  const ChatMessage messages[] = {{"user", "Tell me a story about a fox."}};
  const auto prompt = model->tokenize(model->render_chat(messages).value(), true);
  if (!session->evaluate(*prompt, token).done()) return 1;
  return session->generate({.max_tokens = 40}, {}, token).done() ? 0 : 1;
}
