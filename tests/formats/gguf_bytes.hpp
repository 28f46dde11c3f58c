#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/value.hpp"

namespace tacet::test {

/// Bytes written field by field, so that tests can make files that no writer would.
class Bytes {
 public:
  template <typename T>
  Bytes& number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* from = reinterpret_cast<const char*>(&value);
    data.append(from, sizeof(T));
    return *this;
  }
  Bytes& u32(std::uint32_t value) { return number(value); }
  Bytes& u64(std::uint64_t value) { return number(value); }
  Bytes& raw(std::string_view text) {
    data.append(text);
    return *this;
  }
  Bytes& string(std::string_view text) { return u64(text.size()).raw(text); }
  /// A key and its type; the value follows.
  Bytes& key(std::string_view name, MetadataType type) {
    return string(name).u32(static_cast<std::uint32_t>(type));
  }
  Bytes& align(std::size_t alignment) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  std::span<const std::byte> span() const {
    return std::as_bytes(std::span(data.data(), data.size()));
  }

  std::string data;
};

/// "GGUF", a version and the two counts.
inline Bytes header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  return Bytes().raw("GGUF").u32(version).u64(tensors).u64(keys);
}

/// A description of a tensor; `sizes` innermost first, as in the file.
inline Bytes& tensor(Bytes& to, std::string_view name, std::vector<std::uint64_t> sizes,
                     std::uint32_t type, std::uint64_t offset) {
  to.string(name).u32(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) to.u64(size);
  return to.u32(type).u64(offset);
}

/// A small valid file with a value of every type and three tensors: f32 [2,3], q8_0 [2,32], and one
/// of an unknown type.
inline Bytes sample(std::uint32_t version = 3) {
  Bytes file = header(3, 17, version);
  file.key("general.alignment", MetadataType::u32).u32(32);
  file.key("u8", MetadataType::u8).number(std::uint8_t{200});
  file.key("i8", MetadataType::i8).number(std::int8_t{-5});
  file.key("u16", MetadataType::u16).number(std::uint16_t{60000});
  file.key("i16", MetadataType::i16).number(std::int16_t{-300});
  file.key("i32", MetadataType::i32).number(std::int32_t{7});
  file.key("u64", MetadataType::u64).u64(~std::uint64_t{0});
  file.key("i64", MetadataType::i64).number(std::int64_t{-1});
  file.key("f32", MetadataType::f32).number(0.5F);
  file.key("f64", MetadataType::f64).number(0.1);
  file.key("bool", MetadataType::boolean).number(std::uint8_t{1});
  file.key("string", MetadataType::string).string("caf\xC3\xA9 \xFF");
  file.key("strings", MetadataType::array).u32(8).u64(3).string("a").string("").string("bc");
  file.key("ints", MetadataType::array)
      .u32(3)
      .u64(2)
      .number(std::int16_t{-2})
      .number(std::int16_t{3});
  file.key("floats", MetadataType::array).u32(6).u64(2).number(1.5F).number(-2.0F);
  file.key("bools", MetadataType::array)
      .u32(7)
      .u64(2)
      .number(std::uint8_t{1})
      .number(std::uint8_t{0});
  file.key("nested", MetadataType::array)
      .u32(9)
      .u64(2)
      .u32(0)
      .u64(1)
      .raw("x")
      .u32(8)
      .u64(1)
      .string("y");
  tensor(file, "matrix", {3, 2}, 0, 0);
  tensor(file, "blocks", {32, 2}, 8, 32);
  tensor(file, "later", {7}, 99, 128);
  file.align(32);
  const std::size_t data = file.data.size();
  for (int i = 0; i < 6; ++i) file.number(static_cast<float>(i));
  file.align(32);
  for (int i = 0; i < 68; ++i) file.number(static_cast<std::int8_t>(i));
  file.data.resize(data + 128);
  file.raw("unknown");
  return file;
}

}  // namespace tacet::test
