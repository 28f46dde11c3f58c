#include "formats/gguf/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tacet {
namespace {

template <typename T>
T load(std::span<const std::byte>& from) noexcept {
  T value;
  std::memcpy(&value, from.data(), sizeof(T));
  from = from.subspan(sizeof(T));
  return value;
}

std::string_view load_string(std::span<const std::byte>& from) noexcept {
  const auto size = load<std::uint64_t>(from);
  const std::string_view text(reinterpret_cast<const char*>(from.data()), size);
  from = from.subspan(size);
  return text;
}

/// Takes one value off `from`, whose length the reader has checked.
Scalar take(MetadataType type, std::span<const std::byte>& from) noexcept {
  switch (type) {
    case MetadataType::u8:
      return std::uint64_t{load<std::uint8_t>(from)};
    case MetadataType::i8:
      return std::int64_t{load<std::int8_t>(from)};
    case MetadataType::u16:
      return std::uint64_t{load<std::uint16_t>(from)};
    case MetadataType::i16:
      return std::int64_t{load<std::int16_t>(from)};
    case MetadataType::u32:
      return std::uint64_t{load<std::uint32_t>(from)};
    case MetadataType::i32:
      return std::int64_t{load<std::int32_t>(from)};
    case MetadataType::f32:
      return double{load<float>(from)};
    case MetadataType::boolean:
      return load<std::uint8_t>(from) != 0;
    case MetadataType::string:
      return load_string(from);
    case MetadataType::u64:
      return load<std::uint64_t>(from);
    case MetadataType::i64:
      return load<std::int64_t>(from);
    case MetadataType::f64:
      return load<double>(from);
    case MetadataType::array:
      break;
  }
  return std::uint64_t{0};
}

}  // namespace

std::string_view name(MetadataType type) noexcept {
  switch (type) {
    case MetadataType::u8:
      return "u8";
    case MetadataType::i8:
      return "i8";
    case MetadataType::u16:
      return "u16";
    case MetadataType::i16:
      return "i16";
    case MetadataType::u32:
      return "u32";
    case MetadataType::i32:
      return "i32";
    case MetadataType::f32:
      return "f32";
    case MetadataType::boolean:
      return "bool";
    case MetadataType::string:
      return "string";
    case MetadataType::array:
      return "array";
    case MetadataType::u64:
      return "u64";
    case MetadataType::i64:
      return "i64";
    case MetadataType::f64:
      return "f64";
  }
  return "unknown";
}

ScalarReader::ScalarReader(const Metadata& metadata) noexcept
    : element_(metadata.element),
      count_(metadata.element == MetadataType::array ? 0 : metadata.count),
      left_(metadata.payload) {}

std::optional<Scalar> ScalarReader::next() noexcept {
  if (count_ == 0) return std::nullopt;
  --count_;
  return take(element_, left_);
}

std::vector<Scalar> scalars(const Metadata& metadata, std::size_t limit) {
  std::vector<Scalar> result;
  if (metadata.element == MetadataType::array) return result;
  const std::size_t count = std::min<std::uint64_t>(metadata.count, limit);
  result.reserve(count);
  ScalarReader values(metadata);
  while (result.size() < count) result.push_back(*values.next());
  return result;
}

Result<DType> TensorInfo::dtype() const {
  auto known = dtype_from_gguf(type);
  if (known) return known;
  return fail(known.error().code(), "The tensor {} can not be used. {}", quoted(name),
              known.error().message());
}

std::string quoted(std::string_view text, std::size_t limit) {
  std::string result = "'";
  for (const char c : text.substr(0, limit)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  result += text.size() > limit ? "...'" : "'";
  return result;
}

}  // namespace tacet
