#include "runtime/kv_pool.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"

namespace tacet {

namespace {

/// Bytes of a page that are copied between two looks at the stop.
constexpr std::size_t copied_at_once = 64 * 1024;

}  // namespace

PageLayout::PageLayout(const ModelConfig& config, DType k_type, DType v_type) {
  const auto aligned = [](std::size_t size) { return (size + 63) / 64 * 64; };
  const std::size_t rows = std::size_t{KvPool::page_tokens} * config.kv_heads;
  for (std::uint32_t i = 0; i < config.layers; ++i) {
    const std::size_t v_offset = bytes + aligned(rows * row_bytes(k_type, config.k_head_size));
    layers.push_back({.k_offset = bytes,
                      .v_offset = v_offset,
                      .heads = config.kv_heads,
                      .k_head_size = config.k_head_size,
                      .v_head_size = config.v_head_size,
                      .k_type = k_type,
                      .v_type = v_type});
    bytes = v_offset + aligned(rows * row_bytes(v_type, config.v_head_size));
  }
}

KvPool::KvPool(std::span<const Place> places, const ModelConfig& config, DType k_type, DType v_type)
    : layout_(config, k_type, v_type) {
  for (const Place& place : places)
    ranges_.push_back(
        {place.device, layout_.begin_of(place.first_layer), layout_.begin_of(place.end_layer)});
}

KvPool::Page& KvPool::page_at(const std::byte* data) const noexcept {
  return **std::ranges::lower_bound(pages_, data, std::less<>{},
                                    [](const auto& page) { return page->buffer->data(); });
}

std::byte* KvPool::upper(const std::byte* page) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto data = reinterpret_cast<std::uintptr_t>(page_at(page).upper->data());
  return reinterpret_cast<std::byte*>(data - ranges_.back().begin);
}

/// From where a range of a page lies at its offsets.
template <typename Byte>
Byte* KvPool::address(Byte* page, const Range& range) const noexcept {
  return range.begin == 0 ? page : upper(page);
}

void KvPool::push_free(Page& page) noexcept {
  page.previous_free = last_free_;
  page.next_free = nullptr;
  (last_free_ != nullptr ? last_free_->next_free : first_free_) = &page;
  last_free_ = &page;
  ++free_;
}

void KvPool::take_free(Page& page) noexcept {
  (page.previous_free != nullptr ? page.previous_free->next_free : first_free_) = page.next_free;
  (page.next_free != nullptr ? page.next_free->previous_free : last_free_) = page.previous_free;
  --free_;
}

/// Makes a page of these buffers known, as the caller's. With the lock held.
std::byte* KvPool::add_page(std::unique_ptr<Buffer> buffer, std::unique_ptr<Buffer> upper) {
  if (pages_.size() == pages_.capacity())
    pages_.reserve(std::max<std::size_t>(16, 2 * pages_.size()));
  auto page = std::make_unique<Page>();
  if (pages_.size() >= buckets_.size()) {
    buckets_.assign(std::max<std::size_t>(16, 2 * buckets_.size()), nullptr);
    for (const auto& named : pages_) {
      if (named->name == no_name) continue;
      Page*& first = bucket(named->before, named->tokens);
      named->next_named = std::exchange(first, named.get());
    }
  }
  std::byte* data = buffer->data();
  page->buffer = std::move(buffer);
  page->upper = std::move(upper);
  page->uses = 1;
  const auto place = std::ranges::lower_bound(
      pages_, data, std::less<>{}, [](const auto& other) { return other->buffer->data(); });
  pages_.insert(place, std::move(page));
  return data;
}

Result<std::byte*> KvPool::allocate(const StopToken& stop) {
  {
    const std::lock_guard lock(mutex_);
    if (first_free_ != nullptr) {
      Page& page = *first_free_;
      take_free(page);
      forget_name(page);
      page.uses = 1;
      return page.buffer->data();
    }
  }
  // Clearing a page takes a while, and others are not to wait for it.
  std::unique_ptr<Buffer> parts[2];
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    auto part = ranges_[i].device->allocate(ranges_[i].end - ranges_[i].begin,
                                            "a page of the KV cache", stop);
    if (!part) return fail(std::move(part));
    parts[i] = std::move(*part);
  }
  const std::lock_guard lock(mutex_);
  return add_page(std::move(parts[0]), std::move(parts[1]));
}

void KvPool::share(std::byte* page) noexcept {
  const std::lock_guard lock(mutex_);
  ++page_at(page).uses;
}

void KvPool::release(std::byte* page) noexcept {
  const std::lock_guard lock(mutex_);
  Page& given = page_at(page);
  if (--given.uses == 0) push_free(given);
}

bool KvPool::shared(std::byte* page) const noexcept {
  const std::lock_guard lock(mutex_);
  return page_at(page).uses > 1;
}

Result<std::byte*> KvPool::own(std::byte* page, const StopToken& stop) {
  {
    const std::lock_guard lock(mutex_);
    Page& mine = page_at(page);
    if (mine.uses == 1) {
      forget_name(mine);
      return page;
    }
  }
  auto copy = allocate(stop);
  if (!copy) return copy;
  if (auto copied = copy_page(*copy, page, stop); !copied) {
    release(*copy);
    return fail(std::move(copied));
  }
  release(page);
  return copy;
}

/// Calls `copy` with the range, the begin and the size of each part of a page.
template <typename Copy>
Result<void> KvPool::copy_parts(const StopToken& stop, const Copy& copy) const {
  for (const Range& range : ranges_)
    for (std::size_t at = range.begin; at < range.end; at += copied_at_once) {
      if (stop.stop_requested()) return fail(Code::stopped, "The copy of a page was stopped.");
      if (auto copied = copy(range, at, std::min(copied_at_once, range.end - at)); !copied)
        return copied;
    }
  return {};
}

Result<void> KvPool::copy_page(std::byte* to, const std::byte* from, const StopToken& stop) const {
  return copy_parts(stop, [&](const Range& range, std::size_t at, std::size_t bytes) {
    return range.device->copy(address(to, range) + at, address(from, range) + at, bytes);
  });
}

Result<void> KvPool::read_page(std::byte* to, const std::byte* from, const StopToken& stop) const {
  return copy_parts(stop, [&](const Range& range, std::size_t at, std::size_t bytes) {
    return range.device->read({to + at, bytes}, address(from, range) + at);
  });
}

Result<void> KvPool::write_page(std::byte* to, const std::byte* from, const StopToken& stop) const {
  return copy_parts(stop, [&](const Range& range, std::size_t at, std::size_t bytes) {
    return range.device->write(address(to, range) + at, {from + at, bytes});
  });
}

Result<void> KvPool::copy_cells(std::byte* to, std::uint32_t to_cell, const std::byte* from,
                                std::uint32_t from_cell, std::uint32_t cells,
                                const StopToken& stop) const {
  for (const KvLayer& layer : layout_.layers) {
    if (stop.stop_requested()) return fail(Code::stopped, "The copy of a page was stopped.");
    const Range& range = layer.k_offset < ranges_[0].end ? ranges_[0] : ranges_[1];
    std::byte* to_range = address(to, range);
    const std::byte* from_range = address(from, range);
    const std::size_t k = row_bytes(layer.k_type, layer.k_head_size);
    const std::size_t v = row_bytes(layer.v_type, layer.v_head_size);
    for (std::size_t head = 0; head < layer.heads; ++head) {
      const std::size_t at = head * page_tokens;
      auto copied =
          range.device->copy(to_range + layer.k_offset + (at + to_cell) * k,
                             from_range + layer.k_offset + (at + from_cell) * k, cells * k);
      if (copied)
        copied = range.device->copy(to_range + layer.v_offset + (at + to_cell) * v,
                                    from_range + layer.v_offset + (at + from_cell) * v, cells * v);
      if (!copied) return copied;
    }
  }
  return {};
}

void KvPool::clear_cells(std::byte* page, std::uint32_t cell) const noexcept {
  const auto clear = [&](std::byte* rows, std::size_t bytes) {
    std::memset(rows + cell * bytes, 0, (page_tokens - cell) * bytes);
  };
  for (const KvLayer& layer : layout_.layers)
    for (std::size_t head = 0; head < layer.heads; ++head) {
      const std::size_t k = row_bytes(layer.k_type, layer.k_head_size);
      const std::size_t v = row_bytes(layer.v_type, layer.v_head_size);
      clear(page + layer.k_offset + head * page_tokens * k, k);
      clear(page + layer.v_offset + head * page_tokens * v, v);
    }
}

KvPool::Page*& KvPool::bucket(PageName before, std::span<const Token> tokens) noexcept {
  // Names are compared in full: two of the same bucket cost time only.
  return buckets_[checksum(std::as_bytes(tokens), before) % buckets_.size()];
}

KvPool::Page* KvPool::find_named(PageName before, std::span<const Token> tokens) noexcept {
  if (buckets_.empty()) return nullptr;
  Page* page = bucket(before, tokens);
  while (page != nullptr && (page->before != before || !std::ranges::equal(page->tokens, tokens)))
    page = page->next_named;
  return page;
}

void KvPool::forget_name(Page& page) noexcept {
  if (page.name == no_name) return;
  Page** link = &bucket(page.before, page.tokens);
  while (*link != &page) link = &(*link)->next_named;
  *link = page.next_named;
  page.name = no_name;
}

KvPool::NamedPage KvPool::find(PageName before, std::span<const Token> tokens) noexcept {
  const std::lock_guard lock(mutex_);
  Page* page = find_named(before, tokens);
  if (page == nullptr) return {};
  if (page->uses++ == 0) take_free(*page);
  return {page->buffer->data(), page->name};
}

PageName KvPool::name(std::byte* data, PageName before, std::span<const Token> tokens) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Page* same = find_named(before, tokens)) return same->name;
  Page& page = page_at(data);
  if (page.name != no_name) return page.name;  // it holds something that another table named
  Page*& first = bucket(before, tokens);
  page.name = next_name_++;
  page.before = before;
  std::ranges::copy(tokens, page.tokens.begin());
  page.next_named = std::exchange(first, &page);
  return page.name;
}

std::size_t KvPool::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return pages_.size() - free_;
}

}  // namespace tacet
