#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/session_impl.hpp"

namespace tacet::detail {
namespace {

/// The most rows whose logits are held at a time.
constexpr std::uint32_t score_rows = 128;

/// Logits that are looked at between two looks at the stop: some microseconds.
constexpr std::size_t piece = 2048;

/// The logarithm of the softmax of `logits` at `token`, added up in double precision; nothing if
/// `stop` fired meanwhile.
std::optional<float> log_probability(std::span<const float> logits, Token token,
                                     const StopToken& stop) noexcept {
  float largest = logits[0];
  for (std::size_t at = 0; at < logits.size(); at += piece) {
    if (stop.stop_requested()) return std::nullopt;
    const auto part = logits.subspan(at, std::min(piece, logits.size() - at));
    largest = std::max(largest, *std::ranges::max_element(part));
  }
  double sum = 0;
  for (std::size_t at = 0; at < logits.size(); at += piece) {
    if (stop.stop_requested()) return std::nullopt;
    for (const float logit : logits.subspan(at, std::min(piece, logits.size() - at)))
      sum += double{std::exp(logit - largest)};
  }
  const double shifted = double{logits[static_cast<std::size_t>(token)]} - largest;
  return static_cast<float>(shifted - std::log(sum));
}

}  // namespace

Outcome SessionImpl::score(std::span<const Token> tokens, std::span<float> log_probabilities,
                           const StopToken& stop) {
  settle_all();
  if (log_probabilities.size() != tokens.size())
    return not_started(
        Error(Code::invalid_argument,
              fmt::format("There is room for {} log probabilities of {} tokens; give "
                          "as much as there are tokens.",
                          log_probabilities.size(), tokens.size())));
  if (auto checked = check_tokens(tokens); !checked) return not_started(std::move(checked.error()));
  if (!end_shared(stop)) return stopped_between_runs(stop);

  const std::size_t length = history_.size();
  const std::uint32_t computed = computed_;
  TextStream text = text_;
  auto logits = std::move(logits_);
  const auto roll_back = [&]() noexcept {
    history_.resize(length);
    computed_ = computed;
    pages_.truncate(computed);
    text_ = std::move(text);
    if (logits_ != nullptr) spare_logits_.push_back(std::move(logits_));
    logits_ = std::move(logits);
  };
  Outcome outcome;
  try {
    const bool readable = logits != nullptr;
    outcome = score_slices(tokens, readable ? std::span<const float>(*logits) : std::span<float>(),
                           log_probabilities, stop);
  } catch (...) {
    roll_back();
    throw;
  }
  if (!outcome.done()) {
    roll_back();
  } else if (logits != nullptr) {
    spare_logits_.push_back(std::move(logits));
  }
  return outcome;
}

/// Computes slices of a few rows one after the other, so that the logits of all never are in memory
/// together, and commits each.
Outcome SessionImpl::score_slices(std::span<const Token> tokens, std::span<const float> before,
                                  std::span<float> log_probabilities, const StopToken& stop) {
  const std::uint32_t vocabulary = model_->config().vocabulary;
  const auto first = static_cast<std::uint32_t>(history_.size());
  const auto end = first + static_cast<std::uint32_t>(tokens.size());
  log_probabilities[0] = std::numeric_limits<float>::quiet_NaN();
  if (!before.empty()) {
    const auto first_one = log_probability(before, tokens[0], stop);
    if (!first_one) return stopped_between_runs(stop);
    log_probabilities[0] = *first_one;
  } else if (computed_ == first && first > 0) {
    --computed_;  // the last token is computed again for its logits
  }
  std::vector<float> rows(std::size_t{std::min(score_rows, end - computed_)} * vocabulary);
  Outcome outcome;
  while (computed_ < end) {
    const std::uint32_t begin = computed_;
    CallImpl call;
    call.begin = begin;
    call.append_at = static_cast<std::uint32_t>(history_.size());
    call.end = std::min(end, (begin / score_rows + 1) * score_rows);
    const auto appended = tokens.subspan(call.append_at - first, call.end - call.append_at);
    call.appended.assign(appended.begin(), appended.end());
    call.all_logits = rows.data();
    if (auto started = start(call, stop); !started) return not_started(std::move(started.error()));
    outcome = settle(call);
    if (!outcome.done()) return outcome;
    for (std::uint32_t cell = begin; cell < computed_; ++cell) {
      const auto row = std::span(rows).subspan(std::size_t{cell - begin} * vocabulary, vocabulary);
      if (cell + 1 == computed_) std::ranges::copy(row, logits_->begin());
      if (cell + 1 < first || cell + 1 == end) continue;
      const std::size_t next = cell + 1 - first;
      const auto its = log_probability(row, tokens[next], stop);
      if (!its) return stopped_between_runs(stop);
      log_probabilities[next] = *its;
    }
  }
  outcome.tokens = end - first;
  return outcome;
}

}  // namespace tacet::detail
