#include "text/piece_table.hpp"

#include <bit>
#include <functional>
#include <utility>

namespace tacet {

void PieceStore::reserve(std::size_t count, std::size_t bytes) {
  starts_.reserve(count + 1);
  bytes_.reserve(bytes);
}

void PieceStore::add(std::string_view bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  starts_.push_back(bytes_.size());
}

PieceTable::PieceTable(PieceStore pieces) : pieces_(std::move(pieces)) {
  slots_.assign(std::bit_ceil(pieces_.size() * 2 + 1), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    std::size_t slot = std::hash<std::string_view>{}(pieces_[i]) & mask;
    while (slots_[slot] >= 0 && pieces_[static_cast<std::size_t>(slots_[slot])] != pieces_[i]) {
      slot = (slot + 1) & mask;
    }
    if (slots_[slot] < 0) slots_[slot] = static_cast<std::int32_t>(i);
  }
}

std::optional<std::int32_t> PieceTable::find(std::string_view text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] >= 0) {
    if (pieces_[static_cast<std::size_t>(slots_[slot])] == text) return slots_[slot];
    slot = (slot + 1) & mask;
  }
  return std::nullopt;
}

}  // namespace tacet
