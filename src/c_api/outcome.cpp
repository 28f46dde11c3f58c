#include "c_api/outcome.hpp"

#include "c_api/door.hpp"

namespace tacet::c_api {

namespace {

constexpr std::size_t outcome_size = sizeof(tacet_outcome);

static_assert(static_cast<int>(Status::done) == TACET_OUTCOME_DONE);
static_assert(static_cast<int>(Status::stopped) == TACET_OUTCOME_STOPPED);
static_assert(static_cast<int>(Status::failed) == TACET_OUTCOME_FAILED);
static_assert(static_cast<int>(StopReason::none) == TACET_REASON_NONE);
static_assert(static_cast<int>(StopReason::requested) == TACET_REASON_REQUESTED);
static_assert(static_cast<int>(StopReason::deadline) == TACET_REASON_DEADLINE);
static_assert(static_cast<int>(StopReason::parent) == TACET_REASON_PARENT);
static_assert(static_cast<int>(StopReason::shutdown) == TACET_REASON_SHUTDOWN);
static_assert(static_cast<int>(Finish::none) == TACET_FINISH_NONE);
static_assert(static_cast<int>(Finish::end_token) == TACET_FINISH_END_TOKEN);
static_assert(static_cast<int>(Finish::stop_string) == TACET_FINISH_STOP_STRING);
static_assert(static_cast<int>(Finish::token_limit) == TACET_FINISH_TOKEN_LIMIT);

const char* stopped_message(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::deadline:
      return "The call was stopped by its deadline.";
    case StopReason::shutdown:
      return "The call was stopped by the shutdown of the library.";
    default:
      return "The call was stopped on request.";
  }
}

}  // namespace

Result<void> begin_outcome(tacet_outcome* given) noexcept {
  if (given == nullptr) return {};
  if (auto checked = check_size(given->struct_size, outcome_size); !checked) return checked;
  tacet_outcome failed{};
  failed.status = TACET_OUTCOME_FAILED;
  write_struct(given, failed);
  return {};
}

Result<void> end_outcome(Outcome outcome, tacet_outcome* given) noexcept {
  if (given != nullptr)
    write_struct(given, {.struct_size = 0,
                         .status = static_cast<tacet_outcome_status>(outcome.status),
                         .reason = static_cast<tacet_reason>(outcome.reason),
                         .finish = static_cast<tacet_finish>(outcome.finish),
                         .tokens = outcome.tokens,
                         .steps_done = outcome.steps_done,
                         .steps = outcome.steps,
                         .to_return_ns = static_cast<std::uint64_t>(outcome.to_return.count()),
                         .to_idle_ns = static_cast<std::uint64_t>(outcome.to_idle.count()),
                         .reused = outcome.reused});
  if (outcome.stopped())
    return tl::unexpected(Error::fixed(Code::stopped, stopped_message(outcome.reason)));
  if (!outcome.done() && outcome.error) return tl::unexpected(std::move(*outcome.error));
  if (!outcome.done())
    return tl::unexpected(Error::fixed(Code::internal, "The call failed and did not say why."));
  return {};
}

}  // namespace tacet::c_api
