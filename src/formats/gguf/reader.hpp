#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/gguf/value.hpp"

namespace tacet {

/// The header of a GGUF file: metadata and tensors. Holds views into the bytes it was read from,
/// which must outlive it. Immutable; any number of threads may read it.
///
/// The getters answer with an error that names the key: `not_found` if it is missing, `corrupt` if
/// its value has another type or does not fit. Those with a default give it for a missing key only.
class Gguf {
 public:
  std::uint32_t version() const noexcept { return version_; }
  std::uint64_t alignment() const noexcept { return alignment_; }

  /// In the order of the file; no two have the same key.
  std::span<const Metadata> metadata() const noexcept { return metadata_; }
  /// The entry with this key, or null.
  const Metadata* find_metadata(std::string_view key) const noexcept;

  /// Any integer type that holds a value of at least 0.
  Result<std::uint64_t> unsigned_value(std::string_view key) const;
  Result<std::uint64_t> unsigned_value(std::string_view key, std::uint64_t missing) const;
  /// Any integer type.
  Result<std::int64_t> signed_value(std::string_view key) const;
  Result<std::int64_t> signed_value(std::string_view key, std::int64_t missing) const;
  /// f32 or f64.
  Result<double> float_value(std::string_view key) const;
  Result<double> float_value(std::string_view key, double missing) const;
  Result<bool> bool_value(std::string_view key) const;
  Result<bool> bool_value(std::string_view key, bool missing) const;
  /// Points into the file; need not be valid UTF-8.
  Result<std::string_view> string_value(std::string_view key) const;
  Result<std::string_view> string_value(std::string_view key, std::string_view missing) const;

  /// Views into the file, none of them copied; need not be valid UTF-8.
  Result<std::vector<std::string_view>> string_array(std::string_view key) const;
  /// Elements of any integer type.
  Result<std::vector<std::int64_t>> int_array(std::string_view key) const;
  /// Elements of type f32 or f64.
  Result<std::vector<float>> float_array(std::string_view key) const;

  /// In the order of the file; no two have the same name or share bytes.
  std::span<const TensorInfo> tensors() const noexcept { return tensors_; }
  /// The tensor with this name, or null.
  const TensorInfo* find(std::string_view name) const noexcept;
  /// The tensor with this name, never null, or an error (`not_found`) that names it.
  Result<const TensorInfo*> tensor(std::string_view name) const;

 private:
  friend class GgufReader;

  Result<const Metadata*> array(std::string_view key) const;

  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<Metadata> metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::size_t> by_key_;   ///< indices of metadata_, ordered by key
  std::vector<std::size_t> by_name_;  ///< indices of tensors_, ordered by name
};

/// Reads and checks the header of a GGUF file, version 2 or 3, little-endian (the format:
/// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). `bytes` is the whole file and must
/// outlive the result. After success every view in the result lies inside `bytes`. Takes time and
/// memory in proportion to the header that is really there, whatever its counts claim. Tensors of
/// unknown types are kept: see TensorInfo::dtype.
///
/// Errors: `corrupt` (names key or tensor and the offset in the file), `unsupported` (version 1,
/// big-endian, newer versions), `invalid_argument` (not a GGUF file). With a `file_name`, messages
/// begin with it.
Result<Gguf> read_gguf(std::span<const std::byte> bytes, std::string_view file_name = {});

}  // namespace tacet
