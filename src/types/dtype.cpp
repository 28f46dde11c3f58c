#include "types/dtype.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>

#include "types/codec.hpp"
#include "types/gguf_type.hpp"

namespace tacet {
namespace {

template <typename Block>
void read_blocks(const std::byte* from, std::span<float> out) noexcept {
  Block block;
  for (std::size_t i = 0; i + Block::size <= out.size(); i += Block::size, from += sizeof(Block)) {
    std::memcpy(&block, from, sizeof(Block));
    codec::decode(block, out.data() + i);
  }
}

template <typename Block>
void write_blocks(std::span<const float> in, std::byte* to) noexcept {
  Block block;
  for (std::size_t i = 0; i + Block::size <= in.size(); i += Block::size, to += sizeof(Block)) {
    codec::encode(in.data() + i, block);
    std::memcpy(to, &block, sizeof(Block));
  }
}

template <typename Block>
constexpr DTypeInfo blocks(DType type, std::string_view name) {
  return {type, name, Block::size, sizeof(Block), read_blocks<Block>, write_blocks<Block>};
}

constexpr DTypeInfo kTypes[] = {
    {DType::f32, "f32", 1, 4, codec::read_f32, codec::write_f32},
    {DType::f16, "f16", 1, 2, codec::read_f16, codec::write_f16},
    {DType::bf16, "bf16", 1, 2, codec::read_bf16, codec::write_bf16},
    {DType::i32, "i32", 1, 4, codec::read_i32, codec::write_i32},
    blocks<BlockQ8_0>(DType::q8_0, "q8_0"),
    blocks<BlockQ4_0>(DType::q4_0, "q4_0"),
    blocks<BlockQ4_1>(DType::q4_1, "q4_1"),
    blocks<BlockQ5_0>(DType::q5_0, "q5_0"),
    blocks<BlockQ5_1>(DType::q5_1, "q5_1"),
    blocks<BlockQ2_K>(DType::q2_K, "q2_K"),
    blocks<BlockQ3_K>(DType::q3_K, "q3_K"),
    blocks<BlockQ4_K>(DType::q4_K, "q4_K"),
    blocks<BlockQ5_K>(DType::q5_K, "q5_K"),
    blocks<BlockQ6_K>(DType::q6_K, "q6_K"),
    blocks<BlockIQ4_NL>(DType::iq4_nl, "iq4_nl"),
    blocks<BlockIQ4_XS>(DType::iq4_xs, "iq4_xs"),
    blocks<BlockMXFP4>(DType::mxfp4, "mxfp4"),
};

/// Where the type with each of GGUF's numbers is in kTypes.
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, 64> places{};
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    places[static_cast<std::size_t>(kTypes[i].type)] = static_cast<std::uint8_t>(i);
  }
  return places;
}();

std::string names() {
  std::string list;
  for (const DTypeInfo& type : kTypes) {
    if (!list.empty()) list += ", ";
    list += type.name;
  }
  return list;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::span<const DTypeInfo> dtypes() noexcept {
  return kTypes;
}

const DTypeInfo& info(DType type) noexcept {
  return kTypes[kPlaces[static_cast<std::size_t>(type)]];
}

bool is_kept(DType type) noexcept {
  switch (type) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q5_0:
    case DType::q5_1:
      return true;
    default:
      return false;
  }
}

Result<DType> dtype_from_gguf(std::uint32_t number) {
  for (const DTypeInfo& type : kTypes) {
    if (static_cast<std::uint32_t>(type.type) == number) return type.type;
  }
  if (const GgufType* known = gguf_type(number)) {
    return fail(Code::unsupported,
                "The tensor type {} is not supported yet; use a model in one of: {}.", known->name,
                names());
  }
  return fail(Code::unsupported, "The tensor type number {} is unknown; use a model in one of: {}.",
              number, names());
}

Result<DType> dtype_from_name(std::string_view name) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (const DTypeInfo& type : kTypes) {
    if (std::equal(name.begin(), name.end(), type.name.begin(), type.name.end(), same)) {
      return type.type;
    }
  }
  return fail(Code::invalid_argument, "There is no type '{}'; use one of: {}.", name, names());
}

}  // namespace tacet
