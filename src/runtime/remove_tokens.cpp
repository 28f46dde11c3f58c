#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/session_impl.hpp"

namespace tacet::detail {

/// The first cell that the token at `cell` sees.
std::uint32_t SessionImpl::first_seen(std::uint32_t cell) const noexcept {
  if (options_.window == 0) return 0;
  const std::int64_t before = std::int64_t{positions_[cell]} - options_.window;
  const auto cells = std::span(positions_).first(cell);
  return static_cast<std::uint32_t>(std::ranges::upper_bound(cells, before) - cells.begin());
}

/// Lets the positions of the cells behind the first `count` go on from those.
void SessionImpl::set_positions_behind(std::uint32_t count) noexcept {
  if (count <= plain_) plain_ = context_;
  const std::int32_t next = count == 0 ? 0 : positions_[count - 1] + 1;
  std::iota(positions_.begin() + count, positions_.end(), next);
}

/// Forgets tokens of the middle, and their cells, as far as they are computed.
Outcome SessionImpl::cut_out(std::uint32_t begin, std::uint32_t end, bool close_gap,
                             const StopToken& stop) {
  const std::int32_t gap = positions_[end] - positions_[begin];
  if (positions_.back() > std::numeric_limits<std::int32_t>::max() - 2 * gap)
    return not_started(
        Error(Code::context_full, "The session has used up its positions; begin a new one."));
  const std::uint32_t first = std::min(begin, computed_), last = std::min(end, computed_);
  const bool moves = close_gap && first != 0;
  std::unique_ptr<SessionImpl> moved;
  if (moves) {
    moved.reset(new SessionImpl(model_, options_, context_));
    for (std::uint32_t cell = 0; cell < first; ++cell)
      moved->positions_[cell] = positions_[cell] + gap;
    moved->plain_ = 0;
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
  if (close_gap)
    for (std::uint32_t cell = 0; cell < begin; ++cell) positions_[cell] += gap;
  plain_ = close_gap ? 0 : std::min(plain_, begin);
  positions_.erase(positions_.begin() + begin, positions_.begin() + end);
  history_.erase(history_.begin() + begin, history_.begin() + end);
  positions_.resize(context_);
  const auto kept = static_cast<std::uint32_t>(history_.size());
  std::iota(positions_.begin() + kept, positions_.end(), positions_[kept - 1] + 1);
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
  if (stop.stop_requested()) return stopped_between_runs(stop);
  Outcome outcome;
  outcome.tokens = end - begin;
  if (begin == end) return outcome;
  if (end == history_.size()) {
    if (auto truncated = truncate(begin); !truncated)
      return not_started(std::move(truncated.error()));
    return outcome;
  }
  outcome = cut_out(begin, end, close_gap, stop);
  if (outcome.done() && logits_ != nullptr) spare_logits_.push_back(std::move(logits_));
  return outcome;
}

/// Makes room in a context that is full.
Outcome SessionImpl::shift(const ContextShift& options, const StopToken& stop) {
  std::uint32_t forgotten = std::max(1U, (context_ - options.keep) / 2);
  // By whole pages what comes behind is not even copied.
  if (forgotten >= KvPool::page_tokens) forgotten -= forgotten % KvPool::page_tokens;
  return cut_out(options.keep, options.keep + forgotten, true, stop);
}

}  // namespace tacet::detail
