#include "ops/data.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "types/convert.hpp"

namespace tacet::op_tests {

namespace {

template <typename T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

std::size_t bytes_per_row(const ValueType& type) {
  const std::int64_t width = type.shape.rank() == 1 ? 1 : type.shape.width();
  return row_bytes(type.dtype, static_cast<std::size_t>(width));
}

/// Where the halves of a block are that its numbers are multiplied with. MXFP4 has an exponent.
std::vector<std::size_t> halves_of(DType type) {
  switch (type) {
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_K:
    case DType::q5_K:
      return {0, 2};
    case DType::q2_K:
      return {80, 82};
    case DType::q3_K:
      return {108};
    case DType::q6_K:
      return {208};
    default:
      return {0};
  }
}

Input block_matrix(Random& random, DType type, std::int64_t rows, std::int64_t width,
                   double scale) {
  const auto elements = static_cast<std::size_t>(rows * width);
  const DTypeInfo& info = tacet::info(type);
  std::vector<std::byte> bytes(row_bytes(type, elements));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  const auto set_scales = [&](double size) {
    for (std::size_t at = 0; at < bytes.size(); at += info.block_bytes) {
      if (type == DType::mxfp4) {
        bytes[at] = static_cast<std::byte>(126 + std::lround(std::log2(size)) +
                                           static_cast<long>(random.next() % 3));
        continue;
      }
      for (const std::size_t half : halves_of(type)) {
        const std::uint16_t value = f32_to_f16(static_cast<float>(size * (0.5 + random.uniform())));
        std::memcpy(&bytes[at + half], &value, sizeof value);
      }
    }
  };
  set_scales(1);
  std::vector<float> floats(elements);
  dequantize(type, bytes.data(), floats);
  double squares = 0;
  for (const float value : floats) squares += static_cast<double>(value) * value;
  set_scales(scale / std::sqrt(squares / static_cast<double>(elements)));
  return {Input::Kind::constant, {type, {rows, width}}, std::move(bytes)};
}

ValueType with_rows(const ValueType& type, std::int64_t rows) {
  return {type.dtype, type.shape.rank() == 1 ? Shape{rows} : Shape{rows, type.shape.width()}};
}

}  // namespace

// The seed is hashed with FNV-1a; the numbers are SplitMix64's.
Random::Random(std::string_view seed) noexcept : state_(0xcbf29ce484222325U) {
  for (const char c : seed) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
}

std::uint64_t Random::next() noexcept {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

double Random::uniform() noexcept {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

float Random::normal() noexcept {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return static_cast<float>(sum);
}

std::vector<float> Random::normals(std::size_t count, double scale) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal() * scale);
  return values;
}

Input matrix(Random& random, DType type, std::int64_t rows, std::int64_t width, double scale) {
  if (info(type).block_size > 1) return block_matrix(random, type, rows, width, scale);
  const auto values = random.normals(static_cast<std::size_t>(rows * width), scale);
  std::vector<std::byte> bytes(row_bytes(type, values.size()));
  quantize(type, values, bytes.data());
  return {Input::Kind::constant, {type, {rows, width}}, std::move(bytes)};
}

Input vector(Random& random, std::int64_t length, double scale) {
  const auto values = random.normals(static_cast<std::size_t>(length), scale);
  return {Input::Kind::constant, {DType::f32, {length}}, bytes_of<float>(values)};
}

Input rows_of(Random& random, std::int64_t rows, std::int64_t width, double scale) {
  return rows_of(rows, width, random.normals(static_cast<std::size_t>(rows * width), scale));
}

Input rows_of(std::int64_t rows, std::int64_t width, std::span<const float> values) {
  return {Input::Kind::by_row, {DType::f32, {rows, width}}, bytes_of(values)};
}

Input q8_rows(Random& random, std::int64_t rows, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < values.size(); i += 32) {
    const float scale = std::ldexp(1.0F, -static_cast<int>(5 + random.next() % 3));
    for (std::size_t j = i; j < i + 32; ++j)
      values[j] = static_cast<float>(static_cast<int>(random.next() % 255) - 127) * scale;
    values[i + random.next() % 32] = (random.next() % 2 == 0 ? 127.0F : -127.0F) * scale;
  }
  return rows_of(rows, width, values);
}

Input bf16_rows(Random& random, std::int64_t rows, std::int64_t width, double scale) {
  std::vector<float> values = random.normals(static_cast<std::size_t>(rows * width), scale);
  for (float& value : values) value = bf16_to_f32(f32_to_bf16(value));
  return rows_of(rows, width, values);
}

Input indices(Input::Kind kind, std::span<const std::int32_t> values) {
  return {kind, {DType::i32, {static_cast<std::int64_t>(values.size())}}, bytes_of(values)};
}

Input slice(const Input& input, std::int64_t first, std::int64_t count) {
  const std::size_t row = bytes_per_row(input.type);
  const auto bytes =
      std::span(input.bytes)
          .subspan(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row);
  return {input.kind, with_rows(input.type, count), {bytes.begin(), bytes.end()}};
}

Input with_spare_rows(const Input& input, std::int64_t count) {
  Input padded = input;
  padded.type = with_rows(input.type, input.type.shape[0] + count);
  const std::size_t spare = static_cast<std::size_t>(count) * bytes_per_row(input.type);
  if (input.type.dtype == DType::i32) {
    const std::vector<std::int32_t> far(spare / sizeof(std::int32_t),
                                        std::numeric_limits<std::int32_t>::max());
    const auto bytes = bytes_of<std::int32_t>(far);
    padded.bytes.insert(padded.bytes.end(), bytes.begin(), bytes.end());
  } else {
    padded.bytes.resize(padded.bytes.size() + spare, std::byte{0xff});
  }
  return padded;
}

}  // namespace tacet::op_tests
