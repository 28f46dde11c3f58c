#pragma once

#include "tacet/console.hpp"
#include "tacet/session.hpp"

namespace tacet::cli {

/// {"status", "reason", "error": null or {"code", "message"}, "tokens", "reused", "steps_done",
/// "steps", "to_idle_us", "to_return_us"}; the last two are null unless it was stopped.
Json to_json(const Outcome& outcome);

}  // namespace tacet::cli
