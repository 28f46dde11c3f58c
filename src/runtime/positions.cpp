#include "runtime/positions.hpp"

#include <algorithm>
#include <limits>

namespace tacet {

Positions::Positions(std::uint32_t context, std::span<const std::int32_t> given)
    : context_(context) {
  if (given.empty()) return;
  given_.reserve(context);  // so that views of runs stay valid
  given_.assign(given.begin(), given.end());
  while (plain_ < given_.size() && given_[plain_] == static_cast<std::int32_t>(plain_)) ++plain_;
}

std::int32_t Positions::operator[](std::uint32_t cell) const noexcept {
  if (given_.empty()) return static_cast<std::int32_t>(cell);
  const auto known = static_cast<std::uint32_t>(given_.size());
  return cell < known ? given_[cell] : given_.back() + static_cast<std::int32_t>(cell - known + 1);
}

std::span<const std::int32_t> Positions::of_run(std::uint32_t cells) noexcept {
  if (plain(cells)) return {};
  extend(cells);
  return std::span(given_).first(cells);
}

std::uint32_t Positions::first_seen(std::uint32_t cell, std::uint32_t window) const noexcept {
  if (window == 0) return 0;
  const std::int64_t before = std::int64_t{(*this)[cell]} - window;
  std::uint32_t low = 0, high = cell;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if ((*this)[middle] > before)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void Positions::truncate(std::uint32_t cells) noexcept {
  if (plain(cells))
    given_.clear();
  else if (cells < given_.size())
    given_.resize(cells);
}

Positions Positions::without(std::uint32_t begin, std::uint32_t end, std::uint32_t cells,
                             bool close_gap) const {
  std::vector<std::int32_t> left;
  left.reserve(cells - (end - begin));
  const std::int32_t moved = close_gap ? (*this)[end] - (*this)[begin] : 0;
  for (std::uint32_t cell = 0; cell < begin; ++cell) left.push_back((*this)[cell] + moved);
  for (std::uint32_t cell = end; cell < cells; ++cell) left.push_back((*this)[cell]);
  return Positions(context_, left);
}

bool Positions::have_room(std::uint32_t cells, std::uint32_t more) const noexcept {
  const std::int64_t last = cells == 0 ? -1 : std::int64_t{(*this)[cells - 1]};
  return last + more <= std::numeric_limits<std::int32_t>::max();
}

/// Writes down the positions of the first `cells` cells.
void Positions::extend(std::uint32_t cells) noexcept {
  while (given_.size() < cells) given_.push_back(given_.back() + 1);
}

}  // namespace tacet
