#include "ops/kv_memory.hpp"

#include <algorithm>

#include "types/convert.hpp"

namespace tacet::op_tests {

namespace {

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

KvMemory::KvMemory(const KvShape& s, std::uint32_t cells) : shape(s) {
  // Layer 0 is another one, so that a wrong layer or offset shows.
  for (const KvShape& each : {KvShape{.heads = 1, .k_size = 32, .v_size = 96}, s}) {
    KvLayer one{.k_offset = page_bytes,
                .v_offset = 0,
                .heads = each.heads,
                .k_head_size = each.k_size,
                .v_head_size = each.v_size,
                .k_type = each.k_type,
                .v_type = each.v_type};
    const std::size_t in_page = std::size_t{each.heads} * s.page_tokens;
    one.v_offset = aligned(one.k_offset + in_page * row_bytes(each.k_type, each.k_size));
    page_bytes = aligned(one.v_offset + in_page * row_bytes(each.v_type, each.v_size));
    layers.push_back(one);
  }
  const std::size_t count = (cells + s.page_tokens - 1) / s.page_tokens + 1;
  bytes.assign(count * page_bytes, std::byte{0xff});
}

std::vector<std::byte*> KvMemory::pages(std::byte* base) const {
  std::vector<std::byte*> pointers(bytes.size() / page_bytes);
  // Odd ones first, then even ones, each from the end.
  std::size_t place = pointers.size();
  for (std::size_t i = 1; i < pointers.size(); i += 2) pointers[i] = base + --place * page_bytes;
  for (std::size_t i = 0; i < pointers.size(); i += 2) pointers[i] = base + --place * page_bytes;
  return pointers;
}

Input KvMemory::keys_input() const {
  return {Input::Kind::keys, keys()};
}

Input KvMemory::values_input() const {
  return {Input::Kind::values, values()};
}

KvMemory KvMemory::of(std::uint32_t count) && {
  rows = count;
  return std::move(*this);
}

void KvMemory::fill(Random& random, std::uint32_t cells, float k_mean) {
  const auto pointers = pages(bytes.data());
  const KvSequence sequence{.end = cells, .pages = pointers};
  const KvView kv{{&sequence, 1}, layers, shape.page_tokens};
  for (std::uint32_t cell = 0; cell < cells; ++cell)
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      auto key = random.normals(shape.k_size);
      for (float& element : key) element += k_mean;
      quantize(shape.k_type, key, kv.k_row(sequence, layer, head, cell));
      if (shape.v_size == 0) continue;
      quantize(shape.v_type, random.normals(shape.v_size), kv.v_row(sequence, layer, head, cell));
    }
}

KvRun::KvRun(std::span<const KvMemory> memories, std::byte* base, std::uint32_t rows) {
  std::uint32_t row = 0;
  for (const KvMemory& memory : memories) {
    pages_.push_back(memory.pages(base));
    std::fill_n(pages_.back().begin(), memory.unseen_pages, nullptr);
    if (!memory.has_cells) pages_.back().clear();
    base += memory.bytes.size();
    const std::uint32_t count = memory.rows == KvMemory::all_rows ? rows : memory.rows;
    sequences_.push_back({.begin = row,
                          .end = row + count,
                          .past = memory.shape.past,
                          .pages = pages_.back(),
                          .positions = memory.positions});
    row += count;
  }
  if (memories.empty()) return;
  view_ = {sequences_, memories.front().layers, memories.front().shape.page_tokens};
}

std::vector<std::byte> bytes_of(std::span<const KvMemory> memories) {
  std::vector<std::byte> all;
  for (const KvMemory& memory : memories)
    all.insert(all.end(), memory.bytes.begin(), memory.bytes.end());
  return all;
}

}  // namespace tacet::op_tests
