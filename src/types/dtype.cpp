#include "types/dtype.hpp"

#include <algorithm>
#include <string>

#include "types/gguf_type.hpp"

namespace tacet {
namespace {

constexpr DTypeInfo kTypes[] = {
    {DType::f32, "f32", 1, 4},
    {DType::f16, "f16", 1, 2},
    {DType::q8_0, "q8_0", 32, sizeof(BlockQ8_0)},
    {DType::i32, "i32", 1, 4},
    {DType::bf16, "bf16", 1, 2},
};

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

const DTypeInfo& info(DType type) noexcept {
  switch (type) {
    case DType::f32:
      return kTypes[0];
    case DType::f16:
      return kTypes[1];
    case DType::q8_0:
      return kTypes[2];
    case DType::i32:
      return kTypes[3];
    case DType::bf16:
      return kTypes[4];
  }
  return kTypes[0];
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
  const auto same = [](char a, char b) { return lower(a) == b; };
  for (const DTypeInfo& type : kTypes) {
    if (std::equal(name.begin(), name.end(), type.name.begin(), type.name.end(), same)) {
      return type.type;
    }
  }
  return fail(Code::invalid_argument, "There is no type '{}'; use one of: {}.", name, names());
}

}  // namespace tacet
