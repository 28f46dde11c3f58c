#include "formats/gguf/reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "types/gguf_type.hpp"

namespace tacet {

static_assert(std::endian::native == std::endian::little, "values are read as they lie in files");

namespace {

constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr unsigned kMaxNesting = 4;
// The least that the format needs for one of each: a name of one byte, and its fields.
constexpr std::uint64_t kLeastMetadataBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

/// Bytes of one value, at least for strings and arrays; 0 for an unknown type.
std::uint64_t least_bytes(MetadataType type) noexcept {
  switch (type) {
    case MetadataType::u8:
    case MetadataType::i8:
    case MetadataType::boolean:
      return 1;
    case MetadataType::u16:
    case MetadataType::i16:
      return 2;
    case MetadataType::u32:
    case MetadataType::i32:
    case MetadataType::f32:
      return 4;
    case MetadataType::string:
    case MetadataType::u64:
    case MetadataType::i64:
    case MetadataType::f64:
      return 8;
    case MetadataType::array:
      return 12;
  }
  return 0;
}

bool multiply(std::uint64_t& value, std::uint64_t by) noexcept {
  return !__builtin_mul_overflow(value, by, &value) &&
         value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

/// The indices of `items` ordered by `key`. Equal keys stand side by side.
template <typename Item, typename Key>
std::vector<std::size_t> ordered(const std::vector<Item>& items, Key key) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return items[a].*key < items[b].*key; });
  return order;
}

}  // namespace

/// One pass over the header. `subject_` is what the messages are about.
class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  Result<Gguf> read() {
    if (auto ok = header(); !ok) return fail(std::move(ok));
    for (std::uint64_t i = 0; i < metadata_count_; ++i) {
      if (auto ok = metadata(); !ok) return fail(std::move(ok));
    }
    if (auto ok = index_metadata(); !ok) return fail(std::move(ok));
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      if (auto ok = tensor(); !ok) return fail(std::move(ok));
    }
    if (auto ok = index_tensors(); !ok) return fail(std::move(ok));
    if (auto ok = place_tensors(); !ok) return fail(std::move(ok));
    return std::move(result_);
  }

 private:
  std::uint64_t left() const noexcept { return bytes_.size() - at_; }

  tl::unexpected<Error> ends_early() const {
    return fail(Code::corrupt,
                "The file ends at byte {} inside {}; it is cut short, download it again.",
                bytes_.size(), subject_);
  }

  /// `what` completes the sentence "At byte 12 the tensor 'x' ...".
  tl::unexpected<Error> damaged(std::uint64_t at, std::string_view what) const {
    return fail(Code::corrupt,
                "At byte {} {} {}; the file is damaged, download or convert it again.", at,
                subject_, what);
  }

  template <typename T>
  Result<T> number() {
    if (left() < sizeof(T)) return ends_early();
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  Result<std::string_view> string() {
    const auto size = number<std::uint64_t>();
    if (!size) return tl::unexpected(size.error());
    if (*size > left()) return ends_early();
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + at_), *size);
    at_ += *size;
    return text;
  }

  /// A key or a tensor's name.
  Result<std::string_view> name_string() {
    const std::uint64_t at = at_;
    auto text = string();
    if (!text) return text;
    if (text->empty()) return damaged(at, "has an empty name");
    if (text->size() > Metadata::kMaxNameBytes) {
      return damaged(at, fmt::format("has a name of {} bytes", text->size()));
    }
    return text;
  }

  Result<void> header();
  Result<void> metadata();
  Result<void> value(MetadataType type);
  Result<void> array(Metadata* entry, unsigned depth);
  Result<void> index_metadata();
  Result<void> tensor();
  Result<void> shape(TensorInfo& info);
  Result<std::uint64_t> data_bytes(const TensorInfo& info);
  Result<void> index_tensors();
  Result<void> place_tensors();

  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
  std::string subject_ = "the header";
  std::uint64_t tensor_count_ = 0;
  std::uint64_t metadata_count_ = 0;
  std::vector<std::uint64_t> tensor_at_;  ///< where each tensor's description begins
  Gguf result_;
};

Result<void> GgufReader::header() {
  const std::string_view start(reinterpret_cast<const char*>(bytes_.data()),
                               std::min<std::size_t>(bytes_.size(), 64));
  if (!start.starts_with("GGUF")) {
    if (start.starts_with("version https://git-lfs")) {
      return fail(Code::invalid_argument,
                  "This is a Git LFS pointer, not the model; fetch it with: git lfs pull.");
    }
    if (!start.empty() && std::string_view("GGUF").starts_with(start)) return ends_early();
    return fail(Code::invalid_argument,
                "This is not a GGUF file (it begins with {}); name a file that ends in .gguf.",
                quoted(start.substr(0, 4)));
  }
  at_ = 4;
  const auto version = number<std::uint32_t>();
  if (!version) return tl::unexpected(version.error());
  if (*version != 0 && (*version & 0xFFFFU) == 0) {
    return fail(Code::unsupported,
                "This GGUF file is big-endian; convert the model again as little-endian.");
  }
  if (*version == 1) {
    return fail(Code::unsupported,
                "This GGUF file has version 1, which is no longer read; convert the model again.");
  }
  if (*version != 2 && *version != 3) {
    return fail(Code::unsupported,
                "This GGUF file has version {}; versions 2 and 3 are read, convert it to one.",
                *version);
  }
  result_.version_ = *version;
  const auto tensors = number<std::uint64_t>();
  if (!tensors) return tl::unexpected(tensors.error());
  const auto entries = number<std::uint64_t>();
  if (!entries) return tl::unexpected(entries.error());
  if (*tensors > left() / kLeastTensorBytes) {
    return damaged(8, fmt::format("claims {} tensors, more than the file can hold", *tensors));
  }
  if (*entries > left() / kLeastMetadataBytes) {
    return damaged(16,
                   fmt::format("claims {} metadata keys, more than the file can hold", *entries));
  }
  tensor_count_ = *tensors;
  metadata_count_ = *entries;
  return {};
}

Result<void> GgufReader::metadata() {
  subject_ = fmt::format("metadata key number {}", result_.metadata_.size() + 1);
  Metadata entry;
  entry.offset = at_;
  const auto key = name_string();
  if (!key) return tl::unexpected(key.error());
  entry.key = *key;
  subject_ = fmt::format("the metadata key {}", quoted(*key));
  const std::uint64_t type_at = at_;
  const auto type = number<std::uint32_t>();
  if (!type) return tl::unexpected(type.error());
  entry.type = entry.element = static_cast<MetadataType>(*type);
  if (least_bytes(entry.type) == 0) {
    return damaged(type_at, fmt::format("has the unknown value type {}", *type));
  }
  std::uint64_t value_at = at_;
  if (entry.type == MetadataType::array) {
    if (auto ok = array(&entry, 1); !ok) return ok;
    value_at += 12;
  } else {
    if (auto ok = value(entry.type); !ok) return ok;
  }
  entry.payload = bytes_.subspan(value_at, at_ - value_at);
  result_.metadata_.push_back(entry);
  return {};
}

/// Checks and skips one value that is not an array.
Result<void> GgufReader::value(MetadataType type) {
  if (type == MetadataType::string) {
    const auto text = string();
    if (!text) return tl::unexpected(text.error());
    return {};
  }
  const std::uint64_t size = least_bytes(type);
  if (left() < size) return ends_early();
  if (type == MetadataType::boolean && std::to_integer<unsigned>(bytes_[at_]) > 1) {
    return damaged(at_, "has a bool that is neither 0 nor 1");
  }
  at_ += size;
  return {};
}

/// Checks and skips an array. Tells the outermost one's type and count through `entry`.
Result<void> GgufReader::array(Metadata* entry, unsigned depth) {
  const std::uint64_t start = at_;
  if (depth > kMaxNesting) return damaged(start, "has arrays nested too deep");
  const auto number_of_type = number<std::uint32_t>();
  if (!number_of_type) return tl::unexpected(number_of_type.error());
  const auto count = number<std::uint64_t>();
  if (!count) return tl::unexpected(count.error());
  const auto type = static_cast<MetadataType>(*number_of_type);
  const std::uint64_t least = least_bytes(type);
  if (least == 0) {
    return damaged(start, fmt::format("has an array of the unknown type {}", *number_of_type));
  }
  if (*count > left() / least) {
    return damaged(start + 4,
                   fmt::format("claims {} array elements, more than the file can hold", *count));
  }
  if (entry != nullptr) {
    entry->element = type;
    entry->count = *count;
  }
  const bool fixed =
      type != MetadataType::array && type != MetadataType::string && type != MetadataType::boolean;
  if (fixed) {
    at_ += *count * least;
    return {};
  }
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto ok = type == MetadataType::array ? array(nullptr, depth + 1) : value(type);
    if (!ok) return ok;
  }
  return {};
}

Result<void> GgufReader::index_metadata() {
  result_.by_key_ = ordered(result_.metadata_, &Metadata::key);
  for (std::size_t i = 1; i < result_.by_key_.size(); ++i) {
    const Metadata& one = result_.metadata_[result_.by_key_[i - 1]];
    const Metadata& two = result_.metadata_[result_.by_key_[i]];
    if (one.key != two.key) continue;
    subject_ = fmt::format("the metadata key {}", quoted(one.key));
    return damaged(std::max(one.offset, two.offset), "stands in the file twice");
  }
  const auto alignment = result_.unsigned_value("general.alignment", 32);
  if (!alignment) return tl::unexpected(alignment.error());
  if (!std::has_single_bit(*alignment)) {
    subject_ = "the metadata key 'general.alignment'";
    return damaged(result_.find_metadata("general.alignment")->offset,
                   fmt::format("is {}, not a power of two", *alignment));
  }
  if (*alignment > kMaxAlignment) {
    subject_ = "the metadata key 'general.alignment'";
    return damaged(result_.find_metadata("general.alignment")->offset,
                   fmt::format("is {}, more than the {} bytes that a file can need", *alignment,
                               kMaxAlignment));
  }
  result_.alignment_ = *alignment;
  return {};
}

Result<void> GgufReader::tensor() {
  subject_ = fmt::format("tensor number {}", result_.tensors_.size() + 1);
  TensorInfo info;
  tensor_at_.push_back(at_);
  const auto text = name_string();
  if (!text) return tl::unexpected(text.error());
  info.name = *text;
  subject_ = fmt::format("the tensor {}", quoted(*text));
  if (auto ok = shape(info); !ok) return ok;
  const auto type = number<std::uint32_t>();
  if (!type) return tl::unexpected(type.error());
  info.type = *type;
  // Relative to the data section for now; that begins after the last description.
  const auto offset = number<std::uint64_t>();
  if (!offset) return tl::unexpected(offset.error());
  info.offset = *offset;
  result_.tensors_.push_back(info);
  return {};
}

Result<void> GgufReader::shape(TensorInfo& info) {
  const std::uint64_t at = at_;
  const auto rank = number<std::uint32_t>();
  if (!rank) return tl::unexpected(rank.error());
  if (*rank == 0 || *rank > TensorInfo::kMaxDimensions) {
    return damaged(at, fmt::format("has {} dimensions where 1 to 4 are possible", *rank));
  }
  info.rank = *rank;
  info.elements = 1;
  for (std::size_t i = info.rank; i-- > 0;) {
    const auto size = number<std::uint64_t>();
    if (!size) return tl::unexpected(size.error());
    info.dims[i] = *size;
    if (*size == 0) return damaged(at, "has a dimension of size 0");
    if (!multiply(info.elements, *size)) return damaged(at, "has more elements than 63 bits count");
  }
  return {};
}

Result<void> GgufReader::index_tensors() {
  result_.by_name_ = ordered(result_.tensors_, &TensorInfo::name);
  for (std::size_t i = 1; i < result_.by_name_.size(); ++i) {
    const std::size_t one = result_.by_name_[i - 1];
    const std::size_t two = result_.by_name_[i];
    if (result_.tensors_[one].name != result_.tensors_[two].name) continue;
    subject_ = fmt::format("the tensor {}", quoted(result_.tensors_[one].name));
    return damaged(std::max(tensor_at_[one], tensor_at_[two]), "stands in the file twice");
  }
  return {};
}

/// Bytes of the data; 1 for an unknown type, of which there is at least that.
Result<std::uint64_t> GgufReader::data_bytes(const TensorInfo& info) {
  const GgufType* type = gguf_type(info.type);
  if (type == nullptr) return 1;
  const std::uint64_t at = tensor_at_[static_cast<std::size_t>(&info - result_.tensors_.data())];
  const std::uint64_t row = info.dims[info.rank - 1];
  if (row % type->block_size != 0) {
    return damaged(at, fmt::format("has rows of {} elements, not whole blocks of {} as {} needs",
                                   row, type->block_size, type->name));
  }
  std::uint64_t bytes = info.elements / type->block_size;
  if (!multiply(bytes, type->block_bytes)) return damaged(at, "has more bytes than 63 bits count");
  return bytes;
}

/// Turns relative offsets into places in the file and checks that every tensor has its own bytes
/// there.
Result<void> GgufReader::place_tensors() {
  if (result_.tensors_.empty()) return {};
  subject_ = "the tensor data";
  const std::uint64_t padding =
      (result_.alignment_ - at_ % result_.alignment_) % result_.alignment_;
  if (padding > left()) return ends_early();
  const std::uint64_t start = at_ + padding;
  const std::uint64_t size = bytes_.size() - start;

  const auto order = ordered(result_.tensors_, &TensorInfo::offset);
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    TensorInfo& info = result_.tensors_[order[i]];
    const std::uint64_t at = tensor_at_[order[i]];
    const std::uint64_t offset = info.offset;
    subject_ = fmt::format("the tensor {}", quoted(info.name));
    const auto bytes = data_bytes(info);
    if (!bytes) return tl::unexpected(bytes.error());
    if (offset % result_.alignment_ != 0) {
      return damaged(at, fmt::format("has the data offset {}, not a multiple of {}", offset,
                                     result_.alignment_));
    }
    if (offset > size || *bytes > size - offset) {
      return fail(
          Code::corrupt,
          "The tensor {} needs {} bytes at {} of its data section, which has {} bytes in the "
          "file (from byte {}); the file is cut short or damaged, download it again.",
          quoted(info.name), *bytes, offset, size, start);
    }
    if (offset < used) return damaged(at, "shares data with another tensor");
    used = offset + *bytes;
    info.offset = start + offset;
    info.data = bytes_.subspan(info.offset, *bytes);
    if (gguf_type(info.type) == nullptr) {
      const bool last = i + 1 == order.size();
      const std::uint64_t end = last ? size : std::min(result_.tensors_[order[i + 1]].offset, size);
      info.data = bytes_.subspan(info.offset, std::max(end, used) - offset);
    }
  }
  return {};
}

Result<Gguf> read_gguf(std::span<const std::byte> bytes, std::string_view file_name) {
  auto result = GgufReader(bytes).read();
  if (result || file_name.empty()) return result;
  return fail(result.error().code(), "'{}': {}", file_name, result.error().message());
}

}  // namespace tacet
