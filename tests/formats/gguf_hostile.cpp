#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data_file.hpp"
#include "formats/gguf/reader.hpp"
#include "formats/gguf_bytes.hpp"
#include "formats/mapped_file.hpp"

namespace tacet {
namespace {

using test::Bytes;
using test::header;
using test::tensor;

/// One change to a valid file and the error that it must give.
struct Damage {
  std::string name;
  Bytes file;
  Code code;
  std::string_view message;  ///< a part of it
};

/// A file with one tensor whose fields a case can choose; everything else is valid.
struct OneTensor {
  std::vector<std::uint64_t> sizes = {32};
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::size_t data_bytes = 128;
  std::string name = "t";

  Bytes bytes() const {
    Bytes file = header(1, 0);
    tensor(file, name, sizes, type, offset).align(32);
    file.data.resize(file.data.size() + data_bytes);
    return file;
  }
};

/// A file with one key, whose value `rest` holds.
Bytes one_key(MetadataType type, const std::function<void(Bytes&)>& rest,
              std::string_view name = "k") {
  Bytes file = header(0, 1);
  file.key(name, type);
  rest(file);
  return file;
}

Bytes two_tensors(std::string_view second, std::uint64_t second_offset) {
  Bytes file = header(2, 0);
  tensor(file, "t", {16}, 0, 0);
  tensor(file, second, {16}, 0, second_offset).align(32);
  file.data.resize(file.data.size() + 128);
  return file;
}

Bytes nested(int depth) {
  return one_key(MetadataType::array, [&](Bytes& b) {
    for (int i = 1; i < depth; ++i) b.u32(9).u64(1);
    b.u32(0).u64(1).raw("x");
  });
}

std::vector<Damage> damages() {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  std::vector<Damage> list;
  const auto add = [&](std::string name, Bytes file, Code code, std::string_view message) {
    list.push_back({std::move(name), std::move(file), code, message});
  };
  const auto corrupt = [&](std::string name, Bytes file, std::string_view message) {
    add(std::move(name), std::move(file), Code::corrupt, message);
  };

  add("empty", Bytes(), Code::invalid_argument, "not a GGUF file");
  add("magic", Bytes().raw("GGML").u32(3).u64(0).u64(0), Code::invalid_argument,
      "begins with 'GGML'");
  add("lfs", Bytes().raw("version https://git-lfs.github.com/spec/v1\n"), Code::invalid_argument,
      "git lfs pull");
  add("version_0", header(0, 0, 0), Code::unsupported, "version 0");
  add("version_1", header(0, 0, 1), Code::unsupported, "version 1");
  add("version_4", header(0, 0, 4), Code::unsupported, "version 4");
  add("big_endian", header(0, 0, 0x03000000), Code::unsupported, "big-endian");
  corrupt("tensor_count", header(huge, 0), "tensors, more than the file can hold");
  corrupt("tensor_count_by_one", header(1, 0).raw(std::string(32, '\0')), "claims 1 tensors");
  corrupt("key_count", header(0, huge), "metadata keys, more than the file can hold");
  corrupt("key_count_by_one", header(0, 1).raw(std::string(13, '\0')), "claims 1 metadata keys");

  corrupt("key_empty",
          one_key(
              MetadataType::u32, [](Bytes& b) { b.u32(1); }, ""),
          "empty name");
  corrupt("key_long",
          one_key(
              MetadataType::u32, [](Bytes& b) { b.u32(1); }, std::string(65536, 'k')),
          "name of 65536 bytes");
  corrupt("key_length", header(0, 1).u64(huge).raw("abcdefgh"), "inside metadata key number 1");
  corrupt("key_length_overflow", header(0, 1).u64(~std::uint64_t{0}).raw("abcdefgh"),
          "ends at byte 40");
  corrupt("value_type", one_key(static_cast<MetadataType>(13), [](Bytes& b) { b.u64(1); }),
          "unknown value type 13");
  corrupt("string_length", one_key(MetadataType::string, [&](Bytes& b) { b.u64(huge).raw("x"); }),
          "inside the metadata key 'k'");
  corrupt("string_length_by_one",
          one_key(MetadataType::string, [](Bytes& b) { b.u64(2).raw("x"); }), "cut short");
  corrupt("u64_short", one_key(MetadataType::u64, [](Bytes& b) { b.raw("1234567"); }), "cut short");
  corrupt("bool", one_key(MetadataType::boolean, [](Bytes& b) { b.raw("\x02"); }),
          "neither 0 nor 1");
  corrupt("array_type", one_key(MetadataType::array, [](Bytes& b) { b.u32(13).u64(0); }),
          "unknown type 13");
  corrupt("array_count", one_key(MetadataType::array, [&](Bytes& b) { b.u32(4).u64(huge).u32(1); }),
          "claims 4611686018427387904 array elements");
  corrupt("array_count_by_one",
          one_key(MetadataType::array, [](Bytes& b) { b.u32(4).u64(2).raw("1234567"); }),
          "claims 2 array elements");
  corrupt("array_of_strings_count",
          one_key(MetadataType::array, [](Bytes& b) { b.u32(8).u64(2).string("1234567"); }),
          "claims 2 array elements");
  corrupt(
      "array_of_strings_length",
      one_key(MetadataType::array, [](Bytes& b) { b.u32(8).u64(2).string("a").u64(3).raw("bc"); }),
      "cut short");
  corrupt("array_of_bools",
          one_key(MetadataType::array, [](Bytes& b) { b.u32(7).u64(2).raw("\x01\x03"); }),
          "neither 0 nor 1");
  corrupt("array_nesting", nested(5), "nested too deep");
  corrupt("nested_array_count",
          one_key(MetadataType::array, [&](Bytes& b) { b.u32(9).u64(1).u32(9).u64(huge).u64(0); }),
          "array elements");
  corrupt("key_twice",
          header(0, 2).key("k", MetadataType::u8).raw("1").key("k", MetadataType::u8).raw("2"),
          "'k' stands in the file twice");
  const auto alignment = [](std::uint32_t value) {
    return one_key(
        MetadataType::u32, [value](Bytes& b) { b.u32(value); }, "general.alignment");
  };
  corrupt("alignment_0", alignment(0), "not a power of two");
  corrupt("alignment_2m", alignment(2U << 20), "is 2097152, more than");
  corrupt(
      "alignment_2t",
      one_key(
          MetadataType::u64, [](Bytes& b) { b.u64(std::uint64_t{1} << 41); }, "general.alignment"),
      "is 2199023255552, more than");
  corrupt("alignment_24", alignment(24), "is 24, not a power of two");
  corrupt("alignment_type",
          one_key(
              MetadataType::string, [](Bytes& b) { b.string("32"); }, "general.alignment"),
          "'general.alignment'");

  const OneTensor good;
  corrupt("tensor_name_empty", OneTensor{.name = ""}.bytes(), "empty name");
  corrupt("dimensions_0", OneTensor{.sizes = {}}.bytes(), "0 dimensions");
  corrupt("dimensions_5", OneTensor{.sizes = {1, 1, 1, 1, 1}}.bytes(), "5 dimensions");
  corrupt("dimensions_many", header(1, 0).string("t").u32(0xFFFFFFFF).raw(std::string(64, '\0')),
          "4294967295 dimensions");
  corrupt("size_0", OneTensor{.sizes = {32, 0}}.bytes(), "dimension of size 0");
  corrupt("elements_overflow", OneTensor{.sizes = {huge, 4}}.bytes(), "more elements than 63 bits");
  corrupt("elements_wrap",
          OneTensor{.sizes = {std::uint64_t{1} << 32, std::uint64_t{1} << 32}}.bytes(),
          "more elements than 63 bits");
  corrupt("bytes_overflow", OneTensor{.sizes = {huge}}.bytes(), "more bytes than 63 bits");
  corrupt("row_of_half_a_block", OneTensor{.sizes = {48, 2}, .type = 8}.bytes(),
          "not whole blocks of 32 as q8_0");
  corrupt("row_of_half_a_block_q4_K", OneTensor{.sizes = {32, 8}, .type = 12}.bytes(),
          "256 as q4_K");
  corrupt("offset_unaligned", OneTensor{.offset = 16, .data_bytes = 256}.bytes(),
          "not a multiple of 32");
  corrupt("offset_behind_the_end", OneTensor{.offset = 160}.bytes(), "needs 128 bytes at 160");
  corrupt("offset_overflow", OneTensor{.offset = ~std::uint64_t{31}}.bytes(), "needs 128 bytes at");
  corrupt("data_by_one", OneTensor{.data_bytes = 127}.bytes(),
          "has 127 bytes in the file (from byte 64)");
  corrupt("data_of_unknown_type", OneTensor{.type = 99, .offset = 128}.bytes(),
          "needs 1 bytes at 128");
  corrupt(
      "no_padding",
      [&] {
        Bytes file = header(1, 0);
        return tensor(file, "t", {32}, 0, 0);
      }(),
      "inside the tensor data");
  corrupt("tensor_twice", two_tensors("t", 64), "'t' stands in the file twice");
  corrupt("tensors_overlap", two_tensors("u", 32), "shares data with another tensor");
  corrupt("tensors_overlap_at_0", two_tensors("u", 0), "shares data with another tensor");
  return list;
}

TEST(Hostile, EveryDamageIsNamed) {
  for (const Damage& damage : damages()) {
    const auto gguf = read_gguf(damage.file.span());
    ASSERT_FALSE(gguf) << damage.name;
    EXPECT_EQ(gguf.error().code(), damage.code) << damage.name << ": " << gguf.error().message();
    EXPECT_NE(gguf.error().message().find(damage.message), std::string_view::npos)
        << damage.name << ": " << gguf.error().message();
  }
}

/// The frames that the damages are made in are valid by themselves.
TEST(Hostile, TheSameFilesWithoutTheDamageAreRead) {
  const std::vector<Bytes> files = {
      OneTensor().bytes(),
      OneTensor{.sizes = {1, 1, 1, 32}}.bytes(),
      OneTensor{.sizes = {32, 2}, .type = 8}.bytes(),
      OneTensor{.sizes = {32}, .offset = 32, .data_bytes = 160}.bytes(),
      OneTensor{.type = 99, .offset = 96}.bytes(),
      two_tensors("u", 64),
      nested(4),
      one_key(MetadataType::boolean, [](Bytes& b) { b.raw(std::string(1, '\1')); }),
      one_key(
          MetadataType::u32, [](Bytes& b) { b.u32(1); }, "general.alignment"),
      one_key(
          MetadataType::u32, [](Bytes& b) { b.u32(1); }, std::string(65535, 'k')),
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto gguf = read_gguf(files[i].span());
    EXPECT_TRUE(gguf) << i << ": " << gguf.error().message();
  }
}

TEST(Hostile, EveryTruncationIsAnErrorOfItsOwn) {
  const Bytes whole = test::sample();
  // The last byte belongs to a tensor of an unknown type, which then has a byte less.
  for (std::size_t size = 0; size + 7 < whole.data.size(); ++size) {
    // A copy of exactly this size, so that AddressSanitizer sees a read behind it.
    const std::vector<std::byte> cut(whole.span().begin(),
                                     whole.span().begin() + static_cast<std::ptrdiff_t>(size));
    const auto gguf = read_gguf(cut);
    ASSERT_FALSE(gguf) << size;
    const Code expected = size == 0 ? Code::invalid_argument : Code::corrupt;
    EXPECT_EQ(gguf.error().code(), expected) << size << ": " << gguf.error().message();
  }
}

/// Reads whatever the header gives, as a program would.
std::uint64_t walk(const Gguf& gguf) {
  std::uint64_t sum = 0;
  for (const Metadata& entry : gguf.metadata()) {
    for (const Scalar& value : scalars(entry, 1000)) {
      if (const auto* text = std::get_if<std::string_view>(&value)) {
        for (const char c : *text) sum += static_cast<unsigned char>(c);
      }
    }
    for (const std::byte byte : entry.payload) sum += std::to_integer<unsigned>(byte);
    static_cast<void>(gguf.string_array(entry.key));
    static_cast<void>(gguf.int_array(entry.key));
    static_cast<void>(gguf.unsigned_value(entry.key));
  }
  for (const TensorInfo& info : gguf.tensors()) {
    for (const std::byte byte : info.data) sum += std::to_integer<unsigned>(byte);
    static_cast<void>(info.dtype());
  }
  return sum;
}

TEST(Hostile, EveryBitFlipIsSurvived) {
  const Bytes whole = test::sample();
  std::size_t read = 0;
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.data.size() * 8; ++bit) {
    std::vector<std::byte> flipped(whole.span().begin(), whole.span().end());
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto gguf = read_gguf(flipped);
    if (gguf) {
      ++read;
      static_cast<void>(walk(*gguf));
    } else {
      ++refused;
      EXPECT_FALSE(gguf.error().message().empty());
    }
  }
  // Flips in names, values and data leave a valid file; those in counts and sizes do not.
  EXPECT_GT(read, 1000U);
  EXPECT_GT(refused, 1000U);
}

/// The corpus of the fuzzer says in the names of its files what must happen: ok-*, bad-*, or any-*
/// where it only must not crash.
TEST(Hostile, TheCorpusIsAnsweredAsItsNamesSay) {
  const std::filesystem::path folder = test::data_file("tests/fuzz/corpus/gguf");
  int good = 0;
  int bad = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    EXPECT_LE(entry.file_size(), 20'000U) << name;
    if (entry.file_size() == 0) continue;
    const auto file = FileBytes::load(entry.path().string(), {.mode = FileMode::read});
    ASSERT_TRUE(file) << file.error().message();
    const auto gguf = read_gguf(file->bytes());
    if (gguf) static_cast<void>(walk(*gguf));
    if (name.starts_with("ok-")) {
      EXPECT_TRUE(gguf) << name << ": " << gguf.error().message();
      ++good;
    } else if (name.starts_with("bad-")) {
      EXPECT_FALSE(gguf) << name;
      ++bad;
    } else {
      EXPECT_TRUE(name.starts_with("any-")) << name;
    }
  }
  EXPECT_GE(good, 3);
  EXPECT_GE(bad, 10);
}

}  // namespace
}  // namespace tacet
