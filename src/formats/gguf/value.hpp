#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "types/dtype.hpp"

namespace tacet {

/// Types of metadata values, with their numbers in the file.
enum class MetadataType : std::uint32_t {
  u8 = 0,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// "u32", "string", ... or "unknown".
std::string_view name(MetadataType type) noexcept;

/// One value. Unsigned types and signed types keep their sign; strings point into the file and need
/// not be valid UTF-8.
using Scalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view>;

/// One key of the metadata and where its value lies. All views point into the bytes that the file
/// was read from.
struct Metadata {
  static constexpr std::size_t kMaxNameBytes = 65535;  ///< of a key, and of a tensor's name

  std::string_view key;  ///< any bytes; not necessarily valid UTF-8
  MetadataType type = MetadataType::u8;
  MetadataType element = MetadataType::u8;  ///< of an array; else the same as `type`
  std::uint64_t count = 1;                  ///< elements of an array; else 1
  std::span<const std::byte> payload;  ///< the value's bytes; of an array, those after its count
  std::uint64_t offset = 0;            ///< where the key begins in the file
};

/// Gives the elements of an array one after the other, or the one value of a scalar. An array of
/// arrays gives none.
class ScalarReader {
 public:
  explicit ScalarReader(const Metadata& metadata) noexcept;
  /// None at the end.
  std::optional<Scalar> next() noexcept;

 private:
  MetadataType element_;
  std::uint64_t count_;
  std::span<const std::byte> left_;
};

/// The first `limit` elements of an array, or the one value of a scalar. An array of arrays gives
/// none.
std::vector<Scalar> scalars(const Metadata& metadata, std::size_t limit);

/// One tensor of the file. Views point into the bytes that the file was read from.
class TensorInfo {
 public:
  static constexpr std::size_t kMaxDimensions = 4;

  std::string_view name;       ///< any bytes; not necessarily valid UTF-8
  std::uint32_t type = 0;      ///< GGUF's number, kept when tacet does not know it
  std::uint64_t elements = 0;  ///< the product of the shape, at least 1
  std::span<const std::byte>
      data;                  ///< for an unknown type: up to the next tensor or the end of the file
  std::uint64_t offset = 0;  ///< of the data, from the start of the file

  /// Outermost dimension first (the file has them the other way round); 1 to 4 dimensions, none of
  /// them 0.
  std::span<const std::uint64_t> shape() const noexcept { return {dims.data(), rank}; }
  /// The type, or an error (`unsupported`) that names the tensor.
  Result<DType> dtype() const;

  std::array<std::uint64_t, kMaxDimensions> dims{};
  std::size_t rank = 0;
};

/// `text` in single quotes for a message: control characters and bytes that are not ASCII as \xNN,
/// at most `limit` bytes of it.
std::string quoted(std::string_view text, std::size_t limit = 64);

}  // namespace tacet
