#pragma once

#include "base/result.hpp"
#include "tacet.h"
#include "tacet/session.hpp"

namespace tacet::c_api {

/// Checks the struct that a caller passed for the outcome, which may be null, and marks it `failed`
/// until the outcome is known.
Result<void> begin_outcome(tacet_outcome* given) noexcept;

/// Fills the caller's struct, if there is one, and says what the call returns: nothing, the error
/// of a failed call, or Code::stopped.
Result<void> end_outcome(Outcome outcome, tacet_outcome* given) noexcept;

}  // namespace tacet::c_api
