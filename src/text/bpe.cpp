#include "text/bpe.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "formats/gguf/value.hpp"
#include "text/hash.hpp"

namespace tacet {
namespace {

std::size_t hash_pair(std::int32_t first, std::int32_t second, std::uint64_t seed) noexcept {
  const std::uint64_t key =
      (std::uint64_t{static_cast<std::uint32_t>(first)} << 32) | static_cast<std::uint32_t>(second);
  return static_cast<std::size_t>(hash_number(key, seed));
}

/// Orders a heap so that the best rank is on top, and of equal ones the leftmost.
bool worse(const Bpe::Scratch::Candidate& a, const Bpe::Scratch::Candidate& b) noexcept {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Result<Bpe> Bpe::build(std::span<const std::string> merges, const TokenTable& tokens) {
  const PieceTable& texts = tokens.texts;
  Bpe bpe;
  if (merges.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return fail(Code::corrupt,
                "The vocabulary has {} merges, more than any model can use; convert the model "
                "again.",
                merges.size());
  }
  std::vector<Slot> ranked;
  ranked.reserve(merges.size());
  std::string joined;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view line = merges[rank];
    // From the second character on, because a piece may itself begin with a space.
    const std::size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size()) {
      return fail(Code::corrupt,
                  "Merge {} of the vocabulary, {}, is not two pieces; convert the model again.",
                  rank, quoted(line));
    }
    const std::string_view left = line.substr(0, space);
    const std::string_view right = line.substr(space + 1);
    joined.assign(left).append(right);
    const auto first = texts.find(left);
    const auto second = texts.find(right);
    const auto result = texts.find(joined);
    if (!first || !second || !result) {
      return fail(Code::corrupt,
                  "Merge {} of the vocabulary refers to {}, which is not a token of it; convert "
                  "the model again.",
                  rank,
                  quoted(!first    ? left
                         : !second ? right
                                   : std::string_view(joined)));
    }
    if (!tokens.ordinary(*result)) continue;
    ranked.push_back({*first, *second, static_cast<std::int32_t>(rank), *result});
  }
  for (std::uint64_t seed = 0; seed < kHashSeeds; ++seed) {
    if (bpe.fill(ranked, seed)) return bpe;
  }
  return fail(Code::corrupt,
              "The merges of the vocabulary are made to be slow to find; use another model.");
}

bool Bpe::fill(std::span<const Slot> merges, std::uint64_t seed) {
  seed_ = seed;
  count_ = 0;
  slots_.assign(std::bit_ceil(merges.size() * 2 + 1), {});
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& merge : merges) {
    std::size_t slot = hash_pair(merge.first, merge.second, seed) & mask;
    std::size_t probes = 1;
    while (slots_[slot].first >= 0 &&
           (slots_[slot].first != merge.first || slots_[slot].second != merge.second)) {
      if (++probes > kMaxProbes) return false;
      slot = (slot + 1) & mask;
    }
    if (slots_[slot].first >= 0) continue;
    slots_[slot] = merge;
    ++count_;
  }
  return true;
}

const Bpe::Slot* Bpe::find(std::int32_t first, std::int32_t second) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_pair(first, second, seed_) & mask;
  while (slots_[slot].first >= 0) {
    if (slots_[slot].first == first && slots_[slot].second == second) return &slots_[slot];
    slot = (slot + 1) & mask;
  }
  return nullptr;
}

void Bpe::push(std::int32_t left, Scratch& scratch) const {
  if (left < 0) return;
  const Scratch::Symbol& symbol = scratch.symbols[static_cast<std::size_t>(left)];
  if (symbol.next < 0) return;
  const std::int32_t second = scratch.symbols[static_cast<std::size_t>(symbol.next)].id;
  const Slot* slot = find(symbol.id, second);
  if (slot == nullptr) return;
  scratch.heap.push_back({slot->rank, left, symbol.id, second});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), worse);
}

void Bpe::encode(std::span<const std::int32_t> word, Scratch& scratch, StopPoll& poll,
                 std::vector<std::int32_t>& ids) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    symbols.push_back({word[i], index - 1, i + 1 < word.size() ? index + 1 : -1});
  }
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    push(static_cast<std::int32_t>(i), scratch);
  }
  while (!scratch.heap.empty() && !poll.fired()) {
    const Scratch::Candidate best = scratch.heap.front();
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), worse);
    scratch.heap.pop_back();
    Scratch::Symbol& left = symbols[static_cast<std::size_t>(best.left)];
    if (left.id != best.first || left.next < 0) continue;
    Scratch::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.second) continue;
    left.id = find(best.first, best.second)->result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    push(left.previous, scratch);
    push(best.left, scratch);
  }
  for (std::int32_t i = symbols.empty() ? -1 : 0; i >= 0;) {
    const Scratch::Symbol& symbol = symbols[static_cast<std::size_t>(i)];
    ids.push_back(symbol.id);
    i = symbol.next;
  }
}

}  // namespace tacet
