#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "formats/gguf/reader.hpp"

namespace tacet {
namespace {

std::optional<std::int64_t> to_signed(const Scalar& value) noexcept {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || *number > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<std::uint64_t> to_unsigned(const Scalar& value) noexcept {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

template <typename T>
std::optional<T> to(const Scalar& value) noexcept {
  const auto* found = std::get_if<T>(&value);
  return found != nullptr ? std::optional<T>(*found) : std::nullopt;
}

auto missing_key(std::string_view key) {
  return fail(Code::not_found,
              "The file has no metadata key {}; it is not complete, convert the model again.",
              quoted(key));
}

std::string type_text(const Metadata& entry) {
  if (entry.type != MetadataType::array) return std::string(name(entry.type));
  return fmt::format("array of {}", name(entry.element));
}

/// The value of a scalar entry, or the error that it is not `wanted`.
template <typename Convert>
auto value_of(const Metadata& entry, std::string_view wanted, Convert convert)
    -> Result<typename std::invoke_result_t<Convert, const Scalar&>::value_type> {
  if (entry.type != MetadataType::array) {
    if (const auto value = convert(scalars(entry, 1).front())) return *value;
  }
  return fail(
      Code::corrupt,
      "The metadata key {} at byte {} holds no {} but a value of type {}; convert the model again.",
      quoted(entry.key), entry.offset, wanted, type_text(entry));
}

template <typename T, typename Convert>
Result<std::vector<T>> values_of(const Metadata& entry, std::string_view wanted, Convert convert) {
  std::vector<T> result;
  ScalarReader values(entry);
  for (auto value = values.next(); value; value = values.next()) {
    const auto element = convert(*value);
    if (!element) break;
    // Only now, when the type fits: a file can have a thousand million bytes where texts belong.
    if (result.empty()) result.reserve(entry.count);
    result.push_back(static_cast<T>(*element));
  }
  if (result.size() == entry.count) return result;
  return fail(
      Code::corrupt,
      "The metadata key {} at byte {} holds no array of {} but an {}; convert the model again.",
      quoted(entry.key), entry.offset, wanted, type_text(entry));
}

}  // namespace

const Metadata* Gguf::find_metadata(std::string_view key) const noexcept {
  const auto before = [this](std::size_t i, std::string_view k) { return metadata_[i].key < k; };
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), key, before);
  return at != by_key_.end() && metadata_[*at].key == key ? &metadata_[*at] : nullptr;
}

const TensorInfo* Gguf::find(std::string_view name) const noexcept {
  const auto before = [this](std::size_t i, std::string_view n) { return tensors_[i].name < n; };
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name, before);
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

Result<const TensorInfo*> Gguf::tensor(std::string_view name) const {
  if (const TensorInfo* found = find(name)) return found;
  return fail(Code::not_found,
              "The file has no tensor {}; it is not complete, convert the model again.",
              quoted(name));
}

Result<std::uint64_t> Gguf::unsigned_value(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  return value_of(*entry, "integer of at least 0", to_unsigned);
}

Result<std::uint64_t> Gguf::unsigned_value(std::string_view key, std::uint64_t missing) const {
  return find_metadata(key) != nullptr ? unsigned_value(key) : missing;
}

Result<std::int64_t> Gguf::signed_value(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  return value_of(*entry, "integer of 64 bits", to_signed);
}

Result<std::int64_t> Gguf::signed_value(std::string_view key, std::int64_t missing) const {
  return find_metadata(key) != nullptr ? signed_value(key) : missing;
}

Result<double> Gguf::float_value(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  return value_of(*entry, "floating point number", to<double>);
}

Result<double> Gguf::float_value(std::string_view key, double missing) const {
  return find_metadata(key) != nullptr ? float_value(key) : missing;
}

Result<bool> Gguf::bool_value(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  return value_of(*entry, "bool", to<bool>);
}

Result<bool> Gguf::bool_value(std::string_view key, bool missing) const {
  return find_metadata(key) != nullptr ? bool_value(key) : missing;
}

Result<std::string_view> Gguf::string_value(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  return value_of(*entry, "string", to<std::string_view>);
}

Result<std::string_view> Gguf::string_value(std::string_view key, std::string_view missing) const {
  return find_metadata(key) != nullptr ? string_value(key) : missing;
}

Result<const Metadata*> Gguf::array(std::string_view key) const {
  const Metadata* entry = find_metadata(key);
  if (entry == nullptr) return missing_key(key);
  if (entry->type == MetadataType::array) return entry;
  return fail(Code::corrupt,
              "The metadata key {} at byte {} holds no array but a value of type {}; convert the "
              "model again.",
              quoted(key), entry->offset, name(entry->type));
}

Result<std::vector<std::string_view>> Gguf::string_array(std::string_view key) const {
  const auto entry = array(key);
  if (!entry) return tl::unexpected(entry.error());
  return values_of<std::string_view>(**entry, "strings", to<std::string_view>);
}

Result<std::vector<std::int64_t>> Gguf::int_array(std::string_view key) const {
  const auto entry = array(key);
  if (!entry) return tl::unexpected(entry.error());
  return values_of<std::int64_t>(**entry, "integers of 64 bits", to_signed);
}

Result<std::vector<float>> Gguf::float_array(std::string_view key) const {
  const auto entry = array(key);
  if (!entry) return tl::unexpected(entry.error());
  return values_of<float>(**entry, "floating point numbers", to<double>);
}

}  // namespace tacet
