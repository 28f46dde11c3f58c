#pragma once

#include "runtime/kv_pool.hpp"

namespace tacet {

/// A session's page table: which page holds which cells. Releases its pages when it goes. Not
/// thread-safe.
class PageTable {
 public:
  /// `root` names what the pages depend on besides their tokens; below 2^32.
  PageTable(std::shared_ptr<KvPool> pool, std::uint32_t context, PageName root = 0);
  ~PageTable() { truncate(0); }
  PageTable(PageTable&&) noexcept = default;
  PageTable& operator=(PageTable&&) = delete;

  /// Takes the pages of `other` in place of its own.
  void adopt(PageTable other) noexcept;

  /// Makes room to write the cells from `past` to `past + rows`: adds pages, and copies the page of
  /// `past` if it is shared. On an error (Code::stopped if `stop` fired) the cells below `past` are
  /// as they were.
  Result<void> prepare(std::uint32_t past, std::uint32_t rows, const StopToken& stop = {});
  /// Gives up the pages that no cell below `cells` needs.
  void truncate(std::uint32_t cells) noexcept;
  /// Gives up the pages whose cells are all below `cell`; what is left starts at `first_cell`.
  void release_before(std::uint32_t cell) noexcept;
  /// Lets an empty table begin with so many pages that were given up.
  void start_at(std::uint32_t page) noexcept;
  std::uint32_t first_cell() const noexcept { return released_ * KvPool::page_tokens; }
  /// A table that shares the pages of the first `cells` cells.
  PageTable fork(std::uint32_t cells) const;
  /// A table of the first `begin` cells of `head`, and behind them those of `tail` from `end` to
  /// `cells`. Whole pages are shared; what does not lie as in its page before is copied into new
  /// ones. Both have the same pool, and no page of either is being written.
  static Result<PageTable> join(const PageTable& head, std::uint32_t begin, const PageTable& tail,
                                std::uint32_t end, std::uint32_t cells, const StopToken& stop);

  /// Takes pages of other sessions that hold the keys and values of `tokens`, which stand at the
  /// cells from `cell` on; `cell` is behind the last computed one. Returns the number of cells that
  /// it found, whole pages.
  std::uint32_t reuse(std::uint32_t cell, std::span<const Token> tokens) noexcept;
  /// Offers the first whole pages of `tokens`, which are computed and committed, to other sessions.
  void offer(std::span<const Token> tokens) noexcept;
  /// While it is private no page is offered or reused: its cells do not follow from its tokens
  /// alone, or are nobody's business.
  void keep_private(bool is_private = true) noexcept { private_ = is_private; }

  /// The sequence of a run of `rows` rows behind the first `past` cells. Valid as long as the
  /// table.
  KvSequence sequence(std::uint32_t past, std::uint32_t rows,
                      std::span<const std::int32_t> positions = {}) const noexcept {
    return {.begin = 0,
            .end = rows,
            .past = past,
            .pages = pages_,
            .upper_pages = upper_pages_,
            .positions = positions};
  }
  const std::shared_ptr<KvPool>& pool() const noexcept { return pool_; }

 private:
  std::uint32_t context() const noexcept {
    return static_cast<std::uint32_t>(pages_.capacity()) * KvPool::page_tokens;
  }
  void push(std::byte* page) noexcept;
  Result<std::byte*> compose(const PageTable& head, std::uint32_t begin, const PageTable& tail,
                             std::uint32_t end, std::uint32_t first, std::uint32_t last,
                             const StopToken& stop) const;

  std::shared_ptr<KvPool> pool_;
  PageName root_;
  std::vector<std::byte*> pages_;        ///< room for the whole context, so that views stay valid
  std::vector<std::byte*> upper_pages_;  ///< of the same pages; empty unless the pool is split
  std::vector<PageName> names_;          ///< of the first pages that were offered or reused
  std::uint32_t released_ = 0;           ///< pages that were given up in front; null
  bool private_ = false;
};

}  // namespace tacet
