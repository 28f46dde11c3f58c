#include "runtime/kv_pool.hpp"

#include <algorithm>

namespace tacet {

namespace {

/// Bytes of a page that are copied between two looks at the stop.
constexpr std::size_t copied_at_once = 64 * 1024;

std::uint32_t pages_for(std::uint32_t cells) noexcept {
  return (cells + KvPool::page_tokens - 1) / KvPool::page_tokens;
}

}  // namespace

KvPool::KvPool(Device& device, const ModelConfig& config, DType k_type, DType v_type)
    : device_(device) {
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  for (std::uint32_t i = 0; i < config.layers; ++i) {
    KvLayer layer{.k_offset = page_bytes_,
                  .v_offset = 0,
                  .heads = config.kv_heads,
                  .k_head_size = config.k_head_size,
                  .v_head_size = config.v_head_size,
                  .k_type = k_type,
                  .v_type = v_type};
    layer.v_offset = layer.k_offset + aligned(std::size_t{page_tokens} * config.kv_heads *
                                              row_bytes(k_type, config.k_head_size));
    page_bytes_ = layer.v_offset + aligned(std::size_t{page_tokens} * config.kv_heads *
                                           row_bytes(v_type, config.v_head_size));
    layers_.push_back(layer);
  }
}

KvPool::Page& KvPool::find(std::byte* data) noexcept {
  return *std::ranges::lower_bound(pages_, data, std::less<>{},
                                   [](const Page& page) { return page.buffer->data(); });
}

Result<std::byte*> KvPool::allocate(const StopToken& stop) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    pages_.reserve(pages_.size() + 1);
    free_.reserve(pages_.size() + 1);
    auto buffer = device_.allocate(page_bytes_, "a page of the KV cache", stop);
    if (!buffer) return fail(std::move(buffer));
    std::byte* data = (*buffer)->data();
    const auto place = std::ranges::lower_bound(
        pages_, data, std::less<>{}, [](const Page& page) { return page.buffer->data(); });
    pages_.insert(place, Page{std::move(*buffer), 0});
    free_.push_back(data);
  }
  std::byte* data = free_.back();
  free_.pop_back();
  find(data).uses = 1;
  return data;
}

void KvPool::share(std::byte* page) noexcept {
  const std::lock_guard lock(mutex_);
  ++find(page).uses;
}

void KvPool::release(std::byte* page) noexcept {
  const std::lock_guard lock(mutex_);
  if (--find(page).uses == 0) free_.push_back(page);
}

bool KvPool::shared(std::byte* page) const noexcept {
  const std::lock_guard lock(mutex_);
  return const_cast<KvPool*>(this)->find(page).uses > 1;
}

Result<std::byte*> KvPool::own(std::byte* page, const StopToken& stop) {
  if (!shared(page)) return page;
  auto copy = allocate(stop);
  if (!copy) return copy;
  for (std::size_t at = 0; at < page_bytes_; at += copied_at_once) {
    if (stop.stop_requested()) {
      release(*copy);
      return fail(Code::stopped, "The copy of a page was stopped.");
    }
    const std::size_t bytes = std::min(copied_at_once, page_bytes_ - at);
    if (auto copied = device_.copy(*copy + at, page + at, bytes); !copied) {
      release(*copy);
      return fail(std::move(copied));
    }
  }
  release(page);
  return copy;
}

std::size_t KvPool::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return pages_.size() - free_.size();
}

PageTable::PageTable(std::shared_ptr<KvPool> pool, std::uint32_t context) : pool_(std::move(pool)) {
  pages_.reserve(pages_for(context));
}

Result<void> PageTable::prepare(std::uint32_t past, std::uint32_t rows, const StopToken& stop) {
  if (const std::size_t first = past / KvPool::page_tokens; first < pages_.size()) {
    auto own = pool_->own(pages_[first], stop);
    if (!own) return fail(std::move(own));
    // Runs ahead in the queue may read the entry.
    if (pages_[first] != *own) pages_[first] = *own;
  }
  while (pages_.size() < pages_for(past + rows)) {
    auto page = pool_->allocate(stop);
    if (!page) return fail(std::move(page));
    pages_.push_back(*page);
  }
  return {};
}

void PageTable::truncate(std::uint32_t cells) noexcept {
  while (pages_.size() > pages_for(cells)) {
    pool_->release(pages_.back());
    pages_.pop_back();
  }
}

void PageTable::adopt(PageTable other) noexcept {
  truncate(0);
  pages_.swap(other.pages_);
}

PageTable PageTable::fork(std::uint32_t cells) const {
  PageTable copy(pool_, static_cast<std::uint32_t>(pages_.capacity()) * KvPool::page_tokens);
  for (std::uint32_t i = 0; i < pages_for(cells); ++i) {
    pool_->share(pages_[i]);
    copy.pages_.push_back(pages_[i]);
  }
  return copy;
}

}  // namespace tacet
