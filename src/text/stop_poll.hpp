#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "tacet/stop.hpp"

namespace tacet {

/// Looks at a stop token once in a few thousand steps of text work, some 100 us. Made for one call;
/// one thread.
class StopPoll {
 public:
  /// `token` must outlive it.
  explicit StopPoll(const StopToken& token) noexcept : token_(&token) {}

  /// Counts work; true once the token fired, as far as was looked.
  bool fired(std::size_t steps = 1) noexcept {
    count_ += steps;
    if (count_ < kSteps) return fired_;
    count_ = 0;
    fired_ = fired_ || token_->stop_requested();
    return fired_;
  }

  /// The error stopped, if the token fired.
  Result<void> result() const {
    if (!fired_) return {};
    return fail(Code::stopped, "The text was not tokenized to its end: it was stopped ({}).",
                name(token_->reason()));
  }

 private:
  static constexpr std::size_t kSteps = 4096;

  const StopToken* token_;
  std::size_t count_ = kSteps;  // so that the first step looks
  bool fired_ = false;
};

}  // namespace tacet
