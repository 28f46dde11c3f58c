// Any bytes as a GGUF file: reading it and all that it gives must neither crash nor leave the file,
// nor must reading the bytes as blocks of any type, and writing what they hold in another.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "formats/gguf/reader.hpp"
#include "types/convert.hpp"

namespace {

using tacet::Gguf;
using tacet::Metadata;
using tacet::TensorInfo;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Adds up bytes, so that a sanitizer sees each of them read.
template <typename Bytes>
std::uint64_t sum(const Bytes& bytes) {
  std::uint64_t total = 0;
  for (const auto byte : bytes) total += static_cast<std::uint64_t>(byte);
  return total;
}

std::uint64_t visit(const Gguf& gguf, const Metadata& entry) {
  require(gguf.find_metadata(entry.key) == &entry);
  std::uint64_t total = sum(entry.key) + sum(entry.payload) + tacet::quoted(entry.key).size();
  for (const tacet::Scalar& value : tacet::scalars(entry, entry.count)) {
    if (const auto* text = std::get_if<std::string_view>(&value)) total += sum(*text);
  }
  // One of these answers, the others say why not.
  const bool scalar = gguf.unsigned_value(entry.key) || gguf.signed_value(entry.key) ||
                      gguf.float_value(entry.key) || gguf.bool_value(entry.key) ||
                      gguf.string_value(entry.key);
  require(scalar == (entry.type != tacet::MetadataType::array));
  static_cast<void>(gguf.int_array(entry.key));
  static_cast<void>(gguf.float_array(entry.key));
  if (const auto strings = gguf.string_array(entry.key)) {
    for (const std::string_view text : *strings) total += sum(text);
  }
  return total;
}

std::uint64_t visit(const Gguf& gguf, const TensorInfo& info) {
  require(gguf.find(info.name) == &info);
  require(info.offset % gguf.alignment() == 0);
  std::uint64_t elements = 1;
  for (const std::uint64_t size : info.shape()) elements *= size;
  require(elements == info.elements && elements > 0);
  if (const auto type = info.dtype()) {
    require(tacet::row_bytes(*type, info.elements) == info.data.size());
  }
  return sum(info.name) + sum(info.data);
}

/// Reads the bytes as elements of each type, and writes those as one that `choice` names. Any block
/// may be read, and any floats written.
void convert(std::span<const std::byte> data, std::size_t choice) {
  constexpr std::size_t kElements = 256;
  float values[kElements];
  std::byte blocks[kElements * sizeof(float)];
  const tacet::DTypeInfo& to = tacet::dtypes()[choice % tacet::dtypes().size()];
  for (const tacet::DTypeInfo& from : tacet::dtypes()) {
    const std::size_t whole = data.size() / from.block_bytes * from.block_size;
    const auto read = std::span(values).first(std::min(whole, kElements));
    tacet::dequantize(from.type, data.data(), read);
    tacet::quantize(to.type, read.first(read.size() / to.block_size * to.block_size), blocks);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t last = size != 0 ? data[size - 1] : 0;
  convert(std::as_bytes(std::span(data, size)), last);
  const auto gguf = tacet::read_gguf(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!gguf) {
    require(!gguf.error().message().empty());
    return 0;
  }
  volatile std::uint64_t total = 0;
  for (const Metadata& entry : gguf->metadata()) total = total + visit(*gguf, entry);
  for (const TensorInfo& info : gguf->tensors()) total = total + visit(*gguf, info);
  return 0;
}
