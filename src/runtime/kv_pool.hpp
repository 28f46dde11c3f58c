#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/device.hpp"
#include "graph/kv_view.hpp"
#include "models/architecture.hpp"

namespace tacet {

/// The pages of one layer group: same device, same types. Pages are counted, so that sessions can
/// share them, and reused; they go back to the device with the pool. Thread-safe.
class KvPool {
 public:
  /// Tokens in a page.
  static constexpr std::uint32_t page_tokens = 32;

  KvPool(Device& device, const ModelConfig& config, DType k_type, DType v_type);

  std::span<const KvLayer> layers() const noexcept { return layers_; }
  std::size_t page_bytes() const noexcept { return page_bytes_; }
  KvView view(std::span<const KvSequence> sequences) const noexcept {
    return {sequences, layers_, page_tokens};
  }

  /// A page that nobody else uses; what it holds is undefined. Code::stopped if `stop` fired.
  Result<std::byte*> allocate(const StopToken& stop = {});
  void share(std::byte* page) noexcept;
  /// Gives one use of a page up.
  void release(std::byte* page) noexcept;
  bool shared(std::byte* page) const noexcept;
  /// Makes `page` the caller's own: itself if it is not shared, else a copy, with one use of the
  /// original given up. Code::stopped, and nothing happened, if `stop` fired.
  Result<std::byte*> own(std::byte* page, const StopToken& stop = {});
  /// Pages in use, for tests.
  std::size_t used() const noexcept;

 private:
  struct Page {
    std::unique_ptr<Buffer> buffer;
    std::uint32_t uses = 0;
  };
  Page& find(std::byte* data) noexcept;

  Device& device_;
  std::vector<KvLayer> layers_;
  std::size_t page_bytes_ = 0;
  mutable std::mutex mutex_;
  std::vector<Page> pages_;       ///< ascending addresses
  std::vector<std::byte*> free_;  ///< room for all pages
};

/// A session's page table: which page holds which cells. Releases its pages when it goes. Not
/// thread-safe.
class PageTable {
 public:
  explicit PageTable(std::shared_ptr<KvPool> pool, std::uint32_t context);
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
  /// A table that shares the pages of the first `cells` cells.
  PageTable fork(std::uint32_t cells) const;

  /// The sequence of a run of `rows` rows behind the first `past` cells. Valid as long as the
  /// table.
  KvSequence sequence(std::uint32_t past, std::uint32_t rows) const noexcept {
    return {.begin = 0, .end = rows, .past = past, .pages = pages_};
  }
  const std::shared_ptr<KvPool>& pool() const noexcept { return pool_; }

 private:
  std::shared_ptr<KvPool> pool_;
  std::vector<std::byte*> pages_;  ///< room for the whole context, so that views stay valid
};

}  // namespace tacet
