#include "text/piece_table.hpp"

#include <bit>
#include <utility>

#include "text/hash.hpp"

namespace tacet {

void PieceStore::reserve(std::size_t count, std::size_t bytes) {
  starts_.reserve(count + 1);
  bytes_.reserve(bytes);
}

void PieceStore::add(std::string_view bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  starts_.push_back(bytes_.size());
}

PieceTable::PieceTable(PieceStore pieces) : pieces_(std::move(pieces)) {}

Result<PieceTable> PieceTable::build(PieceStore pieces) {
  PieceTable table(std::move(pieces));
  for (std::uint64_t seed = 0; seed < kHashSeeds; ++seed) {
    if (table.fill(seed)) return table;
  }
  return fail(Code::corrupt,
              "The tokens of the vocabulary are made to be slow to find; use another model.");
}

bool PieceTable::fill(std::uint64_t seed) {
  seed_ = seed;
  slots_.assign(std::bit_ceil(pieces_.size() * 2 + 1), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    std::size_t slot = hash_text(pieces_[i], seed) & mask;
    std::size_t probes = 1;
    while (slots_[slot] >= 0 && pieces_[static_cast<std::size_t>(slots_[slot])] != pieces_[i]) {
      if (++probes > kMaxProbes) return false;
      slot = (slot + 1) & mask;
    }
    if (slots_[slot] < 0) slots_[slot] = static_cast<std::int32_t>(i);
  }
  return true;
}

std::optional<std::int32_t> PieceTable::find(std::string_view text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_text(text, seed_) & mask;
  while (slots_[slot] >= 0) {
    if (pieces_[static_cast<std::size_t>(slots_[slot])] == text) return slots_[slot];
    slot = (slot + 1) & mask;
  }
  return std::nullopt;
}

}  // namespace tacet
