#include <algorithm>
#include <cstring>
#include <functional>

#include "formats/session_file.hpp"
#include "runtime/session_impl.hpp"

namespace tacet::detail {
namespace {

/// A page of whose cells only the first `cells` are kept: what others left behind them is not
/// anybody's to read.
std::vector<std::byte> first_cells(const KvPool& pool, const std::byte* page, std::uint32_t cells) {
  std::vector<std::byte> copy(page, page + pool.page_bytes());
  const std::size_t left = KvPool::page_tokens - cells;
  for (const KvLayer& layer : pool.layers()) {
    const std::size_t k = row_bytes(layer.k_type, layer.k_head_size);
    const std::size_t v = row_bytes(layer.v_type, layer.v_head_size);
    for (std::uint32_t head = 0; head < layer.heads; ++head) {
      const std::size_t first = std::size_t{head} * KvPool::page_tokens + cells;
      std::memset(copy.data() + layer.k_offset + first * k, 0, left * k);
      std::memset(copy.data() + layer.v_offset + first * v, 0, left * v);
    }
  }
  return copy;
}

tl::unexpected<Error> contradiction(const std::string& path) {
  return fail(Code::corrupt, "'{}' is damaged: its numbers contradict; save the session again.",
              path);
}

/// Whether an image is one of `model`'s sessions.
Result<void> check_image(const SessionImage& image, const ModelImpl& model,
                         const std::string& path) {
  if (image.model != model.fingerprint())
    return fail(Code::invalid_argument,
                "'{}' is a session of another model; load the one that it was saved with.", path);
  const std::size_t vocabulary = model.config().vocabulary;
  const bool tokens_exist = std::ranges::all_of(image.tokens, [&](Token token) {
    return token >= 0 && static_cast<std::size_t>(token) < vocabulary;
  });
  const bool seen =
      image.positions.empty() ||
      (image.positions.front() >= 0 && image.positions.back() < 1 << 30 &&
       std::ranges::adjacent_find(image.positions, std::equal_to<>()) == image.positions.end());
  const bool fits = image.logits.empty() || image.logits.size() == vocabulary;
  if (tokens_exist && fits && seen && kv_type_of(image.k_type) && kv_type_of(image.v_type))
    return {};
  return contradiction(path);
}

}  // namespace

Result<void> SessionImpl::save(const std::string& path, const StopToken& stop,
                               std::string_view note) {
  settle_all();
  const KvPool& pool = *pages_.pool();
  SessionImage image;
  image.model = model_->fingerprint();
  image.k_type = dtype_of(options_.k_type);
  image.v_type = dtype_of(options_.v_type);
  image.context = context_;
  image.window = options_.window;
  image.first_page = pages_.first_cell() / KvPool::page_tokens;
  image.page_tokens = KvPool::page_tokens;
  image.page_bytes = pool.page_bytes();
  image.computed = computed_;
  image.random_seed = random_.seed;
  image.random_drawn = random_.drawn;
  image.held = text_.held();
  image.character = text_.character();
  image.note = note;
  image.tokens = history_;
  if (plain_ < history_.size()) image.positions = std::span(positions_).first(history_.size());
  image.logits = logits();
  const auto pages = pages_.sequence(computed_, 0).pages;
  std::vector<std::byte> last;
  const auto page = [&](std::size_t i) -> std::span<const std::byte> {
    const std::uint32_t cells = computed_ - static_cast<std::uint32_t>(i) * KvPool::page_tokens;
    if (cells >= KvPool::page_tokens) return {pages[i], pool.page_bytes()};
    last = first_cells(pool, pages[i], cells);
    return last;
  };
  return write_session_file(path, image, page, stop);
}

Result<std::unique_ptr<SessionImpl>> SessionImpl::restore(std::shared_ptr<const ModelImpl> model,
                                                          const std::string& path,
                                                          std::uint32_t context,
                                                          const StopToken& stop,
                                                          std::string* note) {
  auto file = FileBytes::load(
      path, {.mode = FileMode::read, .prefault = false, .stop = stop, .progress = {}});
  if (!file) return fail(std::move(file));
  return restore(std::move(model), file->bytes(), path, context, stop, note);
}

Result<std::unique_ptr<SessionImpl>> SessionImpl::restore(
    std::shared_ptr<const ModelImpl> model, std::span<const std::byte> bytes,
    const std::string& path, std::uint32_t context, const StopToken& stop, std::string* note) {
  auto saved = read_session_file(bytes, "'" + path + "'", stop);
  if (!saved) return fail(std::move(saved));
  const SessionImage& image = saved->image;
  if (auto checked = check_image(image, *model, path); !checked) return fail(std::move(checked));
  if (context == 0) context = image.context;
  if (image.tokens.size() > context)
    return fail(Code::context_full,
                "'{}' holds {} tokens, more than a context of {}; use a larger one.", path,
                image.tokens.size(), context);
  auto session = create(std::move(model), {.context = context,
                                           .k_type = *kv_type_of(image.k_type),
                                           .v_type = *kv_type_of(image.v_type),
                                           .window = image.window});
  if (!session) return session;
  SessionImpl& s = **session;
  const std::size_t page_bytes = s.pages_.pool()->page_bytes();
  if (image.page_tokens != KvPool::page_tokens || image.page_bytes != page_bytes)
    return fail(Code::unsupported,
                "'{}' keeps keys and values in pages of another size than this program; evaluate "
                "its tokens anew.",
                path);
  if (note != nullptr) *note = image.note;
  s.history_.assign(image.tokens.begin(), image.tokens.end());
  if (!image.positions.empty()) {
    std::ranges::copy(image.positions, s.positions_.begin());
    s.plain_ = 0;
    s.set_positions_behind(static_cast<std::uint32_t>(image.positions.size()));
  }
  // A file can say anything; what others share comes from their tokens alone.
  s.pages_.keep_private();
  s.pages_.start_at(image.first_page);
  const std::uint32_t first_cell = s.pages_.first_cell();
  if (first_cell != 0 && (image.computed == 0 || s.first_seen(image.computed - 1) < first_cell))
    return contradiction(path);
  if (auto prepared = s.pages_.prepare(first_cell, image.computed - first_cell, stop); !prepared)
    return fail(std::move(prepared));
  const auto pages = s.pages_.sequence(image.computed, 0).pages.subspan(image.first_page);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (stop.stop_requested()) return fail(Code::stopped, "Restoring '{}' was stopped.", path);
    std::memcpy(pages[i], saved->pages.data() + i * page_bytes, page_bytes);
  }
  s.computed_ = image.computed;
  s.random_ = {image.random_seed, image.random_drawn};
  s.text_ = TextStream::restore(image.held, image.character);
  if (!image.logits.empty()) {
    s.logits_ = s.take_logits();
    std::ranges::copy(image.logits, s.logits_->begin());
  }
  return session;
}

}  // namespace tacet::detail
