#include "tacet/outcome_json.hpp"

namespace tacet::cli {

Json to_json(const Outcome& outcome) {
  Json error;
  if (outcome.error)
    error = {{"code", name(outcome.error->code())}, {"message", outcome.error->message()}};
  Json to_idle;
  Json to_return;
  if (outcome.stopped()) {
    to_idle = microseconds(outcome.to_idle);
    to_return = microseconds(outcome.to_return);
  }
  return {{"status", name(outcome.status)},
          {"reason", name(outcome.reason)},
          {"error", error},
          {"tokens", outcome.tokens},
          {"reused", outcome.reused},
          {"steps_done", outcome.steps_done},
          {"steps", outcome.steps},
          {"to_idle_us", to_idle},
          {"to_return_us", to_return}};
}

}  // namespace tacet::cli
