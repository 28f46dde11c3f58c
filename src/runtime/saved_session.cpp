#include <algorithm>
#include <cstring>
#include <functional>

#include "formats/session_file.hpp"
#include "runtime/session_impl.hpp"

namespace tacet::detail {
namespace {

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
  if (!end_shared(stop)) return fail(Code::stopped, "Saving '{}' was stopped.", path);
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
  image.positions = positions_.of_run(static_cast<std::uint32_t>(history_.size()));
  image.logits = logits();
  const auto pages = pages_.sequence(computed_, 0).pages;
  const std::size_t whole = computed_ / KvPool::page_tokens;
  const std::uint32_t rest = computed_ % KvPool::page_tokens;
  std::vector<std::byte> bytes(pool.page_bytes());
  const auto page = [&](std::size_t i) -> Result<std::span<const std::byte>> {
    auto read = pool.read_page(bytes.data(), pages[i], stop);
    if (!read) return fail(std::move(read));
    // What others left behind the last cell is not anybody's to read.
    if (i == whole && rest != 0) pool.clear_cells(bytes.data(), rest);
    return bytes;
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
  s.positions_ = Positions(context, image.positions);
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
    auto copied = s.pages_.pool()->write_page(pages[i], saved->pages.data() + i * page_bytes, stop);
    if (!copied) return fail(std::move(copied));
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
