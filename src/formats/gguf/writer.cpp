#include "formats/gguf/writer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace tacet {
namespace {

constexpr std::uint64_t kAlignment = 32;
constexpr std::size_t kStep = 256 << 10;

template <typename T>
void append(std::string& to, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

void append(std::string& to, std::string_view text) {
  append(to, std::uint64_t{text.size()});
  to.append(text);
}

std::uint64_t padding(std::uint64_t size) {
  return (kAlignment - size % kAlignment) % kAlignment;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Bytes of a tensor, or nothing if the shape is not one.
std::optional<std::uint64_t> bytes_of(DType type, std::span<const std::uint64_t> shape) {
  if (shape.empty() || shape.size() > TensorInfo::kMaxDimensions) return std::nullopt;
  const DTypeInfo& layout = info(type);
  if (shape.back() % layout.block_size != 0) return std::nullopt;
  std::uint64_t bytes = layout.block_bytes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool row = i + 1 == shape.size();
    const std::uint64_t size = row ? shape[i] / layout.block_size : shape[i];
    if (size == 0 || __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2) return std::nullopt;
  return bytes;
}

}  // namespace

GgufWriter::GgufWriter(std::string path, StopToken stop)
    : path_(std::move(path)), stop_(std::move(stop)) {}

void GgufWriter::declaration_error(Error error) {
  if (!error_) error_ = std::move(error);
}

void GgufWriter::check_length(std::string_view what, std::string_view name) {
  if (name.size() <= Metadata::kMaxNameBytes) return;
  declaration_error(Error(Code::invalid_argument,
                          fmt::format("The {} {} has {} bytes; give one of at most {}.", what,
                                      quoted(name), name.size(), Metadata::kMaxNameBytes)));
}

void GgufWriter::key(std::string_view key, MetadataType type) {
  if (file_) {
    declaration_error(Error(Code::invalid_argument, "Metadata comes before begin()."));
  }
  if (key.empty() || key == "general.alignment" || !keys_.emplace(key).second) {
    declaration_error(Error(Code::invalid_argument,
                            fmt::format("The metadata key {} is empty, given twice or fixed; give "
                                        "another.",
                                        quoted(key))));
  }
  check_length("metadata key", key);
  append(metadata_, key);
  append(metadata_, static_cast<std::uint32_t>(type));
}

void GgufWriter::array(std::string_view name, MetadataType element, std::size_t count) {
  key(name, MetadataType::array);
  append(metadata_, static_cast<std::uint32_t>(element));
  append(metadata_, std::uint64_t{count});
}

void GgufWriter::add(std::string_view name, std::uint32_t value) {
  key(name, MetadataType::u32);
  append(metadata_, value);
}

void GgufWriter::add(std::string_view name, float value) {
  key(name, MetadataType::f32);
  append(metadata_, value);
}

void GgufWriter::add(std::string_view name, bool value) {
  key(name, MetadataType::boolean);
  append(metadata_, static_cast<std::uint8_t>(value ? 1 : 0));
}

void GgufWriter::add(std::string_view name, std::string_view value) {
  key(name, MetadataType::string);
  append(metadata_, value);
}

void GgufWriter::add(std::string_view name, std::span<const std::string> values) {
  array(name, MetadataType::string, values.size());
  for (const std::string& value : values) append(metadata_, std::string_view(value));
}

void GgufWriter::add(std::string_view name, std::span<const std::int32_t> values) {
  array(name, MetadataType::i32, values.size());
  for (const std::int32_t value : values) append(metadata_, value);
}

void GgufWriter::add(std::string_view name, std::span<const float> values) {
  array(name, MetadataType::f32, values.size());
  for (const float value : values) append(metadata_, value);
}

void GgufWriter::add(const Metadata& entry) {
  if (entry.type == MetadataType::array) {
    array(entry.key, entry.element, entry.count);
  } else {
    key(entry.key, entry.type);
  }
  metadata_.append(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
}

void GgufWriter::add_tensor(std::string_view name, DType type,
                            std::span<const std::uint64_t> shape) {
  if (file_) {
    declaration_error(Error(Code::invalid_argument, "Tensors are declared before begin()."));
  }
  if (name.empty() || !names_.emplace(name).second) {
    declaration_error(Error(
        Code::invalid_argument,
        fmt::format("The tensor name {} is empty or given twice; give another.", quoted(name))));
  }
  check_length("tensor name", name);
  const auto bytes = bytes_of(type, shape);
  if (!bytes || data_offset_ > std::numeric_limits<std::int64_t>::max() / 2) {
    declaration_error(Error(Code::invalid_argument,
                            fmt::format("The tensor {} has a shape that GGUF can not hold as {}; "
                                        "use 1 to 4 dimensions and rows of whole "
                                        "blocks.",
                                        quoted(name), tacet::name(type))));
    return;
  }
  append(descriptions_, name);
  append(descriptions_, static_cast<std::uint32_t>(shape.size()));
  for (std::size_t i = shape.size(); i-- > 0;) append(descriptions_, shape[i]);
  append(descriptions_, static_cast<std::uint32_t>(type));
  append(descriptions_, data_offset_);
  tensor_bytes_.push_back(*bytes);
  data_bytes_ += *bytes;
  data_offset_ += *bytes + padding(*bytes);
}

Result<void> GgufWriter::begin() {
  if (file_) declaration_error(Error(Code::invalid_argument, "begin() is called once."));
  if (error_) return tl::unexpected(*error_);
  std::string header = "GGUF";
  append(header, std::uint32_t{3});
  append(header, std::uint64_t{tensor_bytes_.size()});
  append(header, std::uint64_t{keys_.size()});
  const std::uint64_t size = header.size() + metadata_.size() + descriptions_.size();
  descriptions_.append(tensor_bytes_.empty() ? 0 : padding(size), '\0');

  auto file = OutputFile::create(path_, size + data_offset_);
  if (!file) return fail(std::move(file));
  file_ = std::move(*file);
  buffer_.reserve(kStep);
  tensor_left_ = tensor_bytes_.empty() ? 0 : tensor_bytes_.front();
  if (auto ok = emit(as_bytes(header)); !ok) return ok;
  if (auto ok = emit(as_bytes(metadata_)); !ok) return ok;
  if (auto ok = emit(as_bytes(descriptions_)); !ok) return ok;
  metadata_ = {};
  descriptions_ = {};
  return {};
}

Result<void> GgufWriter::write(std::span<const std::byte> data) {
  if (error_) return tl::unexpected(*error_);
  while (!data.empty()) {
    if (tensor_ >= tensor_bytes_.size() || !file_) {
      return fail(Code::invalid_argument, "More data than the declared tensors hold was written.");
    }
    const auto piece = data.first(std::min<std::uint64_t>(data.size(), tensor_left_));
    if (auto ok = emit(piece); !ok) return ok;
    data = data.subspan(piece.size());
    tensor_left_ -= piece.size();
    if (tensor_left_ != 0) continue;
    if (auto ok = pad(); !ok) return ok;
    ++tensor_;
    tensor_left_ = tensor_ < tensor_bytes_.size() ? tensor_bytes_[tensor_] : 0;
  }
  return {};
}

Result<void> GgufWriter::pad() {
  constexpr std::byte kZeros[kAlignment] = {};
  return emit(std::span(kZeros).first(padding(tensor_bytes_[tensor_])));
}

Result<void> GgufWriter::emit(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kStep - buffer_.size()));
    buffer_.insert(buffer_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    if (buffer_.size() < kStep) continue;
    if (auto ok = flush(); !ok) return ok;
  }
  return {};
}

/// Any error ends the file: the temporary one is removed at once.
Result<void> GgufWriter::flush() {
  if (const StopReason reason = stop_.reason(); reason != StopReason::none) {
    error_ =
        Error(Code::stopped, fmt::format("Writing '{}' stopped ({}).", path_, tacet::name(reason)));
  } else if (auto ok = file_->write(buffer_); !ok) {
    error_ = std::move(ok.error());
  }
  buffer_.clear();
  if (!error_) return {};
  file_.reset();
  return tl::unexpected(*error_);
}

Result<void> GgufWriter::finish() {
  if (error_) return tl::unexpected(*error_);
  if (!file_ || tensor_ != tensor_bytes_.size()) {
    return fail(Code::invalid_argument,
                "finish() comes after begin() and all data of the tensors.");
  }
  if (auto ok = flush(); !ok) return ok;
  auto done = file_->commit();
  error_ = Error(Code::invalid_argument, "This file is finished; make a new writer.");
  file_.reset();
  return done;
}

}  // namespace tacet
