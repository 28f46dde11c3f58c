// The logits of tacet for tests/peers/run, asked for in JSON lines on standard input: {file,
// prompts, after}. The answer is, for each list of tokens in `prompts`, a list of all logits behind
// it and behind each further token of its list in `after`.

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tacet/engine.hpp"
#include "tacet/model.hpp"
#include "tacet/session.hpp"

namespace {

using Json = nlohmann::json;
using Tokens = std::vector<tacet::Token>;

/// Ends the program: whoever asked sees it end, and the reason on standard error.
[[noreturn]] void leave(const tacet::Error& error) {
  std::cerr << error.message() << '\n';
  std::exit(1);
}

Json logits_of(tacet::Session& session, std::span<const tacet::Token> tokens) {
  const tacet::Outcome outcome = session.evaluate(tokens);
  if (!outcome.done()) leave(*outcome.error);
  return Json(std::vector<float>(session.logits().begin(), session.logits().end()));
}

Json answer(const tacet::Model& model, const Tokens& prompt, const Tokens& after) {
  auto session = model.new_session({.k_type = tacet::KvType::f32, .v_type = tacet::KvType::f32});
  if (!session) leave(session.error());
  Json rows = Json::array({logits_of(*session, prompt)});
  for (const tacet::Token& token : after) rows.push_back(logits_of(*session, {&token, 1}));
  return rows;
}

}  // namespace

int main() {
  const auto engine = tacet::Engine::create({.threads = 1});
  if (!engine) leave(engine.error());
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line);
    const auto model = engine->load(request.at("file").get<std::string>());
    if (!model) leave(model.error());
    const auto prompts = request.at("prompts").get<std::vector<Tokens>>();
    const auto after = request.at("after").get<std::vector<Tokens>>();
    Json answers = Json::array();
    for (std::size_t i = 0; i < prompts.size(); ++i)
      answers.push_back(answer(*model, prompts[i], after.at(i)));
    std::cout << answers << std::endl;
  }
}
