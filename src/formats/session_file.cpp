#include "formats/session_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/checksum.hpp"
#include "formats/output_file.hpp"

namespace tacet {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory is");

constexpr std::array<char, 8> magic{'t', 'a', 'c', 'e', 't', 's', 'e', 's'};
constexpr std::uint32_t current_version = 1;
constexpr std::size_t page_alignment = 64;
/// What is done between two looks at the stop.
constexpr std::size_t piece = 256 * 1024;

Error stop_error(std::string_view doing, std::string_view name) {
  return Error(Code::stopped, fmt::format("{} {} was stopped.", doing, name));
}

std::uint64_t pages_for(std::uint64_t cells, std::uint64_t page_tokens) {
  return (cells + page_tokens - 1) / page_tokens;
}

/// Appends to a file, and to its checksum.
class Writer {
 public:
  Writer(OutputFile& file, const std::string& path, const StopToken& stop)
      : file_(file), path_(path), stop_(stop) {}

  template <typename T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  template <typename T>
  void array(std::span<const T> values) {
    align(alignof(std::uint64_t));
    number(std::uint64_t{values.size()});
    bytes(std::as_bytes(values));
  }
  void bytes(std::span<const std::byte> all) {
    for (std::size_t at = 0; at < all.size() && done_; at += piece) {
      if (stop_.stop_requested()) {
        done_ = tl::unexpected(stop_error("Writing", path_));
        return;
      }
      const auto part = all.subspan(at, std::min(piece, all.size() - at));
      sum_.add(part);
      size_ += part.size();
      done_ = file_.write(part);
    }
  }
  void align(std::size_t to) {
    const std::array<std::byte, page_alignment> zeros{};
    bytes(std::span(zeros).first((to - size_ % to) % to));
  }
  std::uint64_t checksum() const { return sum_.value(); }
  Result<void> take() { return std::move(done_); }

 private:
  OutputFile& file_;
  const std::string& path_;
  const StopToken& stop_;
  Checksum sum_;
  std::uint64_t size_ = 0;
  Result<void> done_;
};

/// Takes one field after the other; what is missing makes it fail, and gives zeros from then on.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    const auto from = take(sizeof(T));
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }
  template <typename T>
  std::span<const T> array() {
    align(alignof(std::uint64_t));
    const auto count = number<std::uint64_t>();
    if (count > (bytes_.size() - at_) / sizeof(T)) {
      failed_ = true;
      return {};
    }
    const auto from = take(static_cast<std::size_t>(count) * sizeof(T));
    return {reinterpret_cast<const T*>(from.data()), from.size() / sizeof(T)};
  }
  std::string_view text() {
    const auto from = array<char>();
    return {from.data(), from.size()};
  }
  void align(std::size_t to) { take((to - at_ % to) % to); }
  std::span<const std::byte> take(std::size_t size) {
    if (failed_ || size > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  bool failed() const { return failed_; }
  std::size_t at() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

Result<void> check_sum(std::span<const std::byte> bytes, std::string_view name,
                       const StopToken& stop) {
  Checksum sum;
  const std::size_t size = bytes.size() - sizeof(std::uint64_t);
  for (std::size_t at = 0; at < size; at += piece) {
    if (stop.stop_requested()) return tl::unexpected(stop_error("Reading", name));
    sum.add(bytes.subspan(at, std::min(piece, size - at)));
  }
  std::uint64_t expected = 0;
  std::memcpy(&expected, bytes.data() + size, sizeof expected);
  if (sum.value() == expected) return {};
  return fail(Code::corrupt, "{} is damaged: its checksum does not fit; save the session again.",
              name);
}

}  // namespace

Result<void> write_session_file(const std::string& path, const SessionImage& image,
                                const PageReader& page, const StopToken& stop) {
  const std::uint64_t pages = pages_for(image.computed, image.page_tokens);
  const std::uint64_t expected = (pages - image.first_page) * image.page_bytes +
                                 2 * image.tokens.size_bytes() + image.logits.size_bytes() +
                                 image.note.size() + 4096;
  auto file = OutputFile::create(path, expected);
  if (!file) return fail(std::move(file));
  Writer writer(*file, path, stop);
  writer.bytes(std::as_bytes(std::span(magic)));
  writer.number(current_version);
  writer.number(image.page_tokens);
  writer.number(image.model);
  writer.number(image.k_type);
  writer.number(image.v_type);
  writer.number(image.page_bytes);
  writer.number(image.random_seed);
  writer.number(image.random_drawn);
  writer.number(image.computed);
  writer.number(image.context);
  writer.number(image.window);
  writer.number(image.first_page);
  writer.array(image.tokens);
  writer.array(image.positions);
  writer.array(image.logits);
  writer.array(std::span(image.held));
  writer.array(std::span(image.character));
  writer.array(std::span(image.note));
  writer.align(page_alignment);
  for (std::size_t i = image.first_page; i < pages; ++i) {
    auto bytes = page(i);
    if (!bytes) return fail(std::move(bytes));
    writer.bytes(*bytes);
  }
  writer.number(writer.checksum());
  if (auto written = writer.take(); !written) return written;
  return file->commit();
}

Result<SavedSession> read_session_file(std::span<const std::byte> bytes, std::string_view name,
                                       const StopToken& stop) {
  if (bytes.size() < magic.size() + sizeof(std::uint32_t) ||
      std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return fail(Code::invalid_argument, "{} is not a saved session; name one that was saved.",
                name);
  Reader reader(bytes.first(bytes.size() - std::min(bytes.size(), sizeof(std::uint64_t))));
  reader.take(magic.size());
  if (const auto version = reader.number<std::uint32_t>(); version != current_version)
    return fail(Code::unsupported,
                "{} is a session of version {}, this program reads version {}; save it again with "
                "this one.",
                name, version, current_version);
  SavedSession saved;
  SessionImage& image = saved.image;
  image.page_tokens = reader.number<std::uint32_t>();
  image.model = reader.number<std::uint64_t>();
  const auto k_type = reader.number<std::uint32_t>(), v_type = reader.number<std::uint32_t>();
  image.page_bytes = reader.number<std::uint64_t>();
  image.random_seed = reader.number<std::uint64_t>();
  image.random_drawn = reader.number<std::uint64_t>();
  const auto computed = reader.number<std::uint32_t>();
  image.context = reader.number<std::uint32_t>();
  image.window = reader.number<std::uint32_t>();
  image.first_page = reader.number<std::uint32_t>();
  image.tokens = reader.array<std::int32_t>();
  image.positions = reader.array<std::int32_t>();
  image.logits = reader.array<float>();
  image.held = reader.text();
  image.character = reader.text();
  image.note = reader.text();
  reader.align(page_alignment);
  const auto cut_short = [&] {
    return fail(Code::corrupt, "{} is damaged or cut short at byte {}; save the session again.",
                name, reader.at());
  };
  if (reader.failed() || image.page_tokens == 0 || image.page_bytes == 0 ||
      computed > image.tokens.size() || image.character.size() > 3 ||
      (!image.positions.empty() && image.positions.size() != image.tokens.size()) ||
      !std::ranges::is_sorted(image.positions))
    return cut_short();
  image.computed = computed;
  const std::uint64_t pages = pages_for(computed, image.page_tokens);
  const std::size_t left = bytes.size() - sizeof(std::uint64_t) - reader.at();
  if (image.first_page > pages || left / image.page_bytes != pages - image.first_page ||
      left % image.page_bytes != 0)
    return cut_short();
  saved.pages = reader.take(left);
  if (auto summed = check_sum(bytes, name, stop); !summed) return fail(std::move(summed));
  const auto k = dtype_from_gguf(k_type), v = dtype_from_gguf(v_type);
  if (!k || !v) return cut_short();
  image.k_type = *k;
  image.v_type = *v;
  return saved;
}

}  // namespace tacet
