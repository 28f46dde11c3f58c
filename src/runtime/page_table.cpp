#include "runtime/page_table.hpp"

#include <algorithm>

namespace tacet {

namespace {

constexpr std::uint32_t page_tokens = KvPool::page_tokens;

std::uint32_t pages_for(std::uint32_t cells) noexcept {
  return (cells + page_tokens - 1) / page_tokens;
}

}  // namespace

PageTable::PageTable(std::shared_ptr<KvPool> pool, std::uint32_t context, PageName root)
    : pool_(std::move(pool)), root_(root) {
  pages_.reserve(pages_for(context));
  names_.reserve(pages_for(context));
  if (pool_->is_split()) upper_pages_.reserve(pages_for(context));
}

void PageTable::push(std::byte* page) noexcept {
  pages_.push_back(page);
  if (pool_->is_split()) upper_pages_.push_back(page != nullptr ? pool_->upper(page) : nullptr);
}

Result<void> PageTable::prepare(std::uint32_t past, std::uint32_t rows, const StopToken& stop) {
  const std::size_t first = past / page_tokens;
  if (first < pages_.size()) {
    auto own = pool_->own(pages_[first], stop);
    if (!own) return fail(std::move(own));
    // Runs ahead in the queue may read the entry.
    if (pages_[first] != *own) {
      pages_[first] = *own;
      if (pool_->is_split()) upper_pages_[first] = pool_->upper(*own);
    }
  }
  names_.resize(std::min(names_.size(), first));
  while (pages_.size() < pages_for(past + rows)) {
    auto page = pool_->allocate(stop);
    if (!page) return fail(std::move(page));
    push(*page);
  }
  return {};
}

void PageTable::truncate(std::uint32_t cells) noexcept {
  while (pages_.size() > pages_for(cells)) {
    if (pages_.back() != nullptr) pool_->release(pages_.back());
    pages_.pop_back();
  }
  upper_pages_.resize(std::min(upper_pages_.size(), pages_.size()));
  released_ = std::min(released_, static_cast<std::uint32_t>(pages_.size()));
  names_.resize(std::min<std::size_t>(names_.size(), cells / page_tokens));
}

void PageTable::release_before(std::uint32_t cell) noexcept {
  for (; released_ < cell / page_tokens; ++released_)
    pool_->release(std::exchange(pages_[released_], nullptr));
}

void PageTable::start_at(std::uint32_t page) noexcept {
  for (std::uint32_t i = 0; i < page; ++i) push(nullptr);
  released_ = page;
}

void PageTable::adopt(PageTable other) noexcept {
  truncate(0);
  pages_.swap(other.pages_);
  upper_pages_.swap(other.upper_pages_);
  names_.swap(other.names_);
  released_ = std::exchange(other.released_, 0);
  private_ = other.private_;
}

PageTable PageTable::fork(std::uint32_t cells) const {
  PageTable copy(pool_, context(), root_);
  for (std::uint32_t i = 0; i < pages_for(cells); ++i) {
    if (pages_[i] != nullptr) pool_->share(pages_[i]);
    copy.push(pages_[i]);
  }
  copy.names_.assign(names_.begin(), names_.begin() + std::min<std::ptrdiff_t>(
                                                          std::ssize(names_), cells / page_tokens));
  copy.released_ = released_;
  copy.private_ = private_;
  return copy;
}

/// A new page of the cells from `first` to `last` of a table that is joined.
Result<std::byte*> PageTable::compose(const PageTable& head, std::uint32_t begin,
                                      const PageTable& tail, std::uint32_t end, std::uint32_t first,
                                      std::uint32_t last, const StopToken& stop) const {
  auto page = pool_->allocate(stop);
  if (!page) return page;
  const auto copy = [&]() -> Result<void> {
    bool filled = false;
    for (std::uint32_t cell = first; cell < last;) {
      const bool in_head = cell < begin;
      const std::uint32_t from = in_head ? cell : cell - begin + end;
      const std::uint32_t until = in_head ? std::min(last, begin) : last;
      const std::uint32_t count = std::min(until - cell, page_tokens - from % page_tokens);
      const std::byte* source = (in_head ? head : tail).pages_[from / page_tokens];
      if (source != nullptr) {
        // What lies beside the cells has to be numbers, even where nobody sees it.
        if (!std::exchange(filled, true) && count < page_tokens)
          if (auto copied = pool_->copy_page(*page, source, stop); !copied) return copied;
        if (auto copied = pool_->copy_cells(*page, cell % page_tokens, source, from % page_tokens,
                                            count, stop);
            !copied)
          return copied;
      }
      cell += count;
    }
    return {};
  };
  if (auto copied = copy(); !copied) {
    pool_->release(*page);
    return fail(std::move(copied));
  }
  return page;
}

Result<PageTable> PageTable::join(const PageTable& head, std::uint32_t begin, const PageTable& tail,
                                  std::uint32_t end, std::uint32_t cells, const StopToken& stop) {
  PageTable joined(head.pool_, head.context(), head.root_);
  joined.private_ = head.private_;
  const std::uint32_t total = begin + cells - end, moved = end - begin;
  for (std::uint32_t first = 0; first < total; first += page_tokens) {
    if (stop.stop_requested()) return fail(Code::stopped, "The copy of pages was stopped.");
    const std::uint32_t last = std::min(first + page_tokens, total);
    const bool of_head = last <= begin;
    // Where the page's last cell is now; if even that was given up, so were all.
    std::byte* page =
        of_head ? head.pages_[first / page_tokens] : tail.pages_[(last - 1 + moved) / page_tokens];
    if (page != nullptr && (of_head || (first >= begin && moved % page_tokens == 0))) {
      joined.pool_->share(page);
    } else if (page != nullptr) {
      auto composed = joined.compose(head, begin, tail, end, first, last, stop);
      if (!composed) return fail(std::move(composed));
      page = *composed;
    } else {
      ++joined.released_;
    }
    joined.push(page);
  }
  const auto named = std::min<std::size_t>(head.names_.size(), begin / page_tokens);
  joined.names_.assign(head.names_.begin(),
                       head.names_.begin() + static_cast<std::ptrdiff_t>(named));
  return joined;
}

std::uint32_t PageTable::reuse(std::uint32_t cell, std::span<const Token> tokens) noexcept {
  if (private_ || cell % page_tokens != 0 || names_.size() != cell / page_tokens) return 0;
  std::uint32_t found = 0;
  while (found + page_tokens <= tokens.size()) {
    const PageName before = names_.empty() ? root_ : names_.back();
    const KvPool::NamedPage page = pool_->find(before, tokens.subspan(found, page_tokens));
    if (page.data == nullptr) break;
    truncate(cell + found);
    push(page.data);
    names_.push_back(page.name);
    found += page_tokens;
  }
  return found;
}

void PageTable::offer(std::span<const Token> tokens) noexcept {
  if (private_) return;
  for (std::size_t i = names_.size(); (i + 1) * page_tokens <= tokens.size(); ++i) {
    const PageName before = names_.empty() ? root_ : names_.back();
    if (pages_[i] == nullptr) return;
    names_.push_back(pool_->name(pages_[i], before, tokens.subspan(i * page_tokens, page_tokens)));
  }
}

}  // namespace tacet
