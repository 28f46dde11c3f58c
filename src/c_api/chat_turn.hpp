#pragma once

#include <string_view>
#include <vector>

#include "tacet/model.hpp"

namespace tacet::c_api {

/// The tokens of a raw prompt; at the start of a session with the token that the model wants there.
Result<std::vector<Token>> raw_prompt(const Model& model, std::string_view text, bool at_start);

/// The tokens of a user's next turn, up to where the answer begins, as the model's chat template
/// writes it. At the start of a session it is the template's beginning with the system message, if
/// any; later what ends the answer before it and follows. Control tokens that `text` spells out
/// stay text. Fails with unsupported for a template that does not write turns one after another.
Result<std::vector<Token>> chat_turn(const Model& model, std::string_view system,
                                     std::string_view text, bool at_start);

}  // namespace tacet::c_api
