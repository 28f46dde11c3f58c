#include <algorithm>

#include "runtime/session_impl.hpp"

namespace tacet::detail {

/// Forgets tokens of the middle, and their cells, as far as they are computed.
Outcome SessionImpl::cut_out(std::uint32_t begin, std::uint32_t end, bool close_gap,
                             const StopToken& stop) {
  const auto held = static_cast<std::uint32_t>(history_.size());
  if (!positions_.have_room(held, context_))
    return not_started(
        Error(Code::context_full, "The session has used up its positions; begin a new one."));
  const std::uint32_t first = std::min(begin, computed_), last = std::min(end, computed_);
  const bool moves = close_gap && first != 0;
  Positions left = positions_.without(begin, end, held, close_gap);
  std::unique_ptr<SessionImpl> moved;
  if (moves) {
    moved.reset(new SessionImpl(model_, options_, context_));
    moved->positions_ = Positions(left);
    moved->pages_.keep_private();
    Outcome computed = moved->evaluate(std::span(history_).first(first), stop, {});
    computed.tokens = 0;
    if (!computed.done()) return computed;
  }
  auto joined =
      PageTable::join(moves ? moved->pages_ : pages_, first, pages_, last, computed_, stop);
  if (!joined) {
    if (joined.error().code() == Code::stopped) return stopped_between_runs(stop);
    return not_started(std::move(joined.error()));
  }
  pages_.adopt(std::move(*joined));
  computed_ -= last - first;
  positions_ = std::move(left);
  history_.erase(history_.begin() + begin, history_.begin() + end);
  Outcome outcome;
  outcome.tokens = end - begin;
  return outcome;
}

Outcome SessionImpl::remove(std::uint32_t begin, std::uint32_t end, bool close_gap,
                            const StopToken& stop) {
  settle_all();
  if (begin > end || end > history_.size())
    return not_started(
        Error(Code::invalid_argument,
              fmt::format("The session holds {} tokens; it can not forget those from {} to {}.",
                          history_.size(), begin, end)));
  if (stop.stop_requested() || !end_shared(stop)) return stopped_between_runs(stop);
  Outcome outcome;
  outcome.tokens = end - begin;
  if (begin == end) return outcome;
  if (end == history_.size()) {
    if (auto truncated = truncate(begin); !truncated)
      return not_started(std::move(truncated.error()));
    return outcome;
  }
  outcome = cut_out(begin, end, close_gap, stop);
  if (!outcome.done()) return outcome;
  // The last token is computed anew, as it is seen now.
  computed_ = std::min(computed_, static_cast<std::uint32_t>(history_.size()) - 1);
  if (logits_ != nullptr) spare_logits_.push_back(std::move(logits_));
  return outcome;
}

/// Makes room in a context that is full.
Outcome SessionImpl::shift(const ContextShift& options, const StopToken& stop) {
  if (!end_shared(stop)) return stopped_between_runs(stop);
  std::uint32_t forgotten = std::max(1U, (context_ - options.keep) / 2);
  // By whole pages what comes behind is not even copied.
  if (forgotten >= KvPool::page_tokens) forgotten -= forgotten % KvPool::page_tokens;
  return cut_out(options.keep, options.keep + forgotten, true, stop);
}

}  // namespace tacet::detail
