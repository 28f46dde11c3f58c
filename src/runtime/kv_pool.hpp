#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/kv_view.hpp"
#include "models/architecture.hpp"
#include "plan/placement.hpp"
#include "tacet/session.hpp"

namespace tacet {

/// Names a page by all that its keys and values depend on: the tokens of its cells, and the page
/// before. The first page of a sequence has one of the names below 2^32 before it, which says what
/// else matters (the window). A name is never given twice.
using PageName = std::uint64_t;
inline constexpr PageName no_name = ~PageName{0};

/// How a page holds the keys and values of a model's layers.
struct PageLayout {
  PageLayout(const ModelConfig& config, DType k_type, DType v_type);
  /// Where in a page a layer begins; behind the last one, where the page ends.
  std::size_t begin_of(std::uint32_t layer) const noexcept {
    return layer < layers.size() ? layers[layer].k_offset : bytes;
  }
  std::vector<KvLayer> layers;
  std::size_t bytes = 0;
};

/// The pages of all layers, of the same types. Of a model on two devices each holds the layers that
/// it computes, and a page goes by its address on the device of the lower ones; from its address on
/// either device layers lie where they lie in a whole page. Pages are counted, so that sessions can
/// share them, and reused; they go back to the device with the pool. A page that is given back
/// keeps what it holds, and its name, until it is needed for something else, the one that was
/// given back first before the others: so the next session with the same beginning finds it.
/// Thread-safe.
class KvPool {
 public:
  /// Tokens in a page.
  static constexpr std::uint32_t page_tokens = 32;

  /// `places`: the one device, or those of the lower and the upper layers.
  KvPool(std::span<const Place> places, const ModelConfig& config, DType k_type, DType v_type);

  std::span<const KvLayer> layers() const noexcept { return layout_.layers; }
  std::size_t page_bytes() const noexcept { return layout_.bytes; }
  KvView view(std::span<const KvSequence> sequences) const noexcept {
    return {sequences, layout_.layers, page_tokens};
  }
  bool is_split() const noexcept { return ranges_.size() > 1; }
  /// Where the upper layers of a page lie on their device, in a pool that is split.
  std::byte* upper(const std::byte* page) const noexcept;

  /// A page that nobody else uses; what it holds is undefined. Code::stopped if `stop` fired.
  Result<std::byte*> allocate(const StopToken& stop = {});
  void share(std::byte* page) noexcept;
  /// Gives one use of a page up.
  void release(std::byte* page) noexcept;
  bool shared(std::byte* page) const noexcept;
  /// Makes `page` the caller's own to write: itself, without its name, if it is not shared, else a
  /// copy, with one use of the original given up. Code::stopped, and nothing happened, if `stop`
  /// fired.
  Result<std::byte*> own(std::byte* page, const StopToken& stop = {});
  /// Copies a page, or cells of every layer and head of it, looking at the stop.
  Result<void> copy_page(std::byte* to, const std::byte* from, const StopToken& stop) const;
  /// The same from a page to the host's memory, and back.
  Result<void> read_page(std::byte* to, const std::byte* from, const StopToken& stop) const;
  Result<void> write_page(std::byte* to, const std::byte* from, const StopToken& stop) const;
  Result<void> copy_cells(std::byte* to, std::uint32_t to_cell, const std::byte* from,
                          std::uint32_t from_cell, std::uint32_t cells,
                          const StopToken& stop) const;
  /// Clears the cells from `cell` on in a page that was read to the host's memory.
  void clear_cells(std::byte* page, std::uint32_t cell) const noexcept;

  struct NamedPage {
    std::byte* data = nullptr;  ///< null: there is none
    PageName name = no_name;
  };
  /// A use of the page with these `page_tokens` tokens behind the page `before`.
  NamedPage find(PageName before, std::span<const Token> tokens) noexcept;
  /// Gives a page in use, whose cells are all final, a name; the name of another page if that one
  /// holds the same.
  PageName name(std::byte* page, PageName before, std::span<const Token> tokens) noexcept;
  /// Pages in use, for tests.
  std::size_t used() const noexcept;

 private:
  /// The bytes of a page that are on one device.
  struct Range {
    Device* device;
    std::size_t begin;
    std::size_t end;
  };
  struct Page {
    std::unique_ptr<Buffer> buffer;
    std::unique_ptr<Buffer> upper;  ///< of a pool that is split
    std::uint32_t uses = 0;
    // What it holds, if it has a name; and the next one of its bucket.
    PageName name = no_name;
    PageName before = no_name;
    std::array<Token, page_tokens> tokens{};
    Page* next_named = nullptr;
    // Its neighbours among the free pages.
    Page* next_free = nullptr;
    Page* previous_free = nullptr;
  };
  template <typename Copy>
  Result<void> copy_parts(const StopToken& stop, const Copy& copy) const;
  Page& page_at(const std::byte* data) const noexcept;
  template <typename Byte>
  Byte* address(Byte* page, const Range& range) const noexcept;
  std::byte* add_page(std::unique_ptr<Buffer> buffer, std::unique_ptr<Buffer> upper);
  void push_free(Page& page) noexcept;
  void take_free(Page& page) noexcept;
  Page*& bucket(PageName before, std::span<const Token> tokens) noexcept;
  Page* find_named(PageName before, std::span<const Token> tokens) noexcept;
  void forget_name(Page& page) noexcept;

  PageLayout layout_;
  std::vector<Range> ranges_;  ///< of the lower layers first
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Page>> pages_;  ///< ascending addresses
  std::vector<Page*> buckets_;  ///< of named pages; as many as there are pages, or more
  Page* first_free_ = nullptr;  ///< given back first
  Page* last_free_ = nullptr;
  std::size_t free_ = 0;
  PageName next_name_ = PageName{1} << 32;
};

}  // namespace tacet
