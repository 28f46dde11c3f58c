#include "formats/gguf/writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf/reader.hpp"
#include "formats/mapped_file.hpp"
#include "formats/output_file.hpp"
#include "formats/temporary_folder.hpp"

namespace tacet {
namespace {

using Shape = std::vector<std::uint64_t>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string read_file(const std::string& path) {
  const auto file = FileBytes::load(path, {.mode = FileMode::read});
  if (!file) return std::string(file.error().message());
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

class Writer : public testing::Test {
 protected:
  test::TemporaryFolder folder;
  std::string path = folder / "out.gguf";
};

TEST_F(Writer, WhatItWritesIsRead) {
  GgufWriter writer(path);
  writer.add("u32", std::uint32_t{7});
  writer.add("f32", 0.5F);
  writer.add("yes", true);
  writer.add("text", "caf\xC3\xA9");
  const std::vector<std::string> strings = {"a", "", "bc"};
  writer.add("strings", strings);
  const std::vector<std::int32_t> ints = {-1, 2};
  writer.add("ints", ints);
  const std::vector<float> floats = {0.25F};
  writer.add("floats", floats);
  writer.add_tensor("matrix", DType::f32, Shape{2, 3});
  writer.add_tensor("blocks", DType::q8_0, Shape{1, 64});
  writer.add_tensor("last", DType::f16, Shape{1});
  EXPECT_EQ(writer.data_bytes(), 24U + 68 + 2);
  ASSERT_TRUE(writer.begin());
  std::string data(94, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i + 1);
  // In pieces that cross the borders of tensors.
  for (std::size_t at = 0; at < data.size(); at += 10) {
    ASSERT_TRUE(writer.write(bytes_of(std::string_view(data).substr(at, 10))));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(folder.entries(), 1U);

  const auto file = FileBytes::load(path);
  ASSERT_TRUE(file);
  const auto gguf = read_gguf(file->bytes());
  ASSERT_TRUE(gguf) << gguf.error().message();
  EXPECT_EQ(gguf->version(), 3U);
  EXPECT_EQ(gguf->unsigned_value("u32").value(), 7U);
  EXPECT_EQ(gguf->float_value("f32").value(), 0.5);
  EXPECT_TRUE(gguf->bool_value("yes").value());
  EXPECT_EQ(gguf->string_value("text").value(), "caf\xC3\xA9");
  EXPECT_EQ(gguf->string_array("strings").value(), (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(gguf->int_array("ints").value(), (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(gguf->float_array("floats").value(), floats);
  ASSERT_EQ(gguf->tensors().size(), 3U);
  EXPECT_EQ(gguf->find("matrix")->shape()[0], 2U);
  EXPECT_EQ(gguf->find("matrix")->shape()[1], 3U);
  std::string read;
  for (const TensorInfo& info : gguf->tensors()) {
    EXPECT_EQ(info.offset % 32, 0U);
    read.append(reinterpret_cast<const char*>(info.data.data()), info.data.size());
  }
  EXPECT_EQ(read, data);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(Writer, NoTensors) {
  GgufWriter writer(path);
  writer.add("k", true);
  ASSERT_TRUE(writer.begin());
  ASSERT_TRUE(writer.finish());
  const auto file = FileBytes::load(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(read_gguf(file->bytes()));
}

TEST_F(Writer, WrongDeclarationsAreErrors) {
  const auto declare = [&](auto&& what) {
    GgufWriter writer(path);
    what(writer);
    const auto begun = writer.begin();
    EXPECT_EQ(folder.entries(), 0U);
    return begun ? std::string("no error") : std::string(begun.error().message());
  };
  const auto twice = declare([](GgufWriter& w) {
    w.add("k", true);
    w.add("k", true);
  });
  EXPECT_NE(twice.find("'k' is empty, given twice"), std::string::npos) << twice;
  EXPECT_NE(declare([](GgufWriter& w) { w.add("", true); }).find("is empty"), std::string::npos);
  EXPECT_NE(declare([](GgufWriter& w) { w.add("general.alignment", 64U); }).find("fixed"),
            std::string::npos);
  const auto shape = [&](DType type, Shape sizes) {
    return declare([&](GgufWriter& w) { w.add_tensor("t", type, sizes); });
  };
  EXPECT_NE(shape(DType::f32, {}).find("'t' has a shape"), std::string::npos);
  EXPECT_NE(shape(DType::f32, {1, 1, 1, 1, 1}).find("has a shape"), std::string::npos);
  EXPECT_NE(shape(DType::f32, {4, 0}).find("has a shape"), std::string::npos);
  EXPECT_NE(shape(DType::q8_0, {4, 33}).find("has a shape"), std::string::npos);
  EXPECT_NE(shape(DType::f32, {std::uint64_t{1} << 40, std::uint64_t{1} << 40}).find("has a shape"),
            std::string::npos);
  const auto name_twice = declare([](GgufWriter& w) {
    w.add_tensor("t", DType::f32, Shape{1});
    w.add_tensor("t", DType::f32, Shape{1});
  });
  EXPECT_NE(name_twice.find("'t' is empty or given twice"), std::string::npos);
  // The reader takes names of up to 65535 bytes.
  const auto long_key = [&](std::size_t size) {
    return declare([&](GgufWriter& w) { w.add(std::string(size, 'k'), true); });
  };
  const auto long_name = [&](std::size_t size) {
    return declare(
        [&](GgufWriter& w) { w.add_tensor(std::string(size, 'n'), DType::f32, Shape{1}); });
  };
  EXPECT_NE(long_key(65536).find("has 65536 bytes"), std::string::npos) << long_key(65536);
  EXPECT_NE(long_name(65536).find("has 65536 bytes"), std::string::npos) << long_name(65536);
}

TEST_F(Writer, TheLongestNamesAreRead) {
  const std::string name(65535, 'n');
  GgufWriter writer(path);
  writer.add(name, true);
  writer.add_tensor(name, DType::f32, Shape{1});
  ASSERT_TRUE(writer.begin());
  const std::vector<std::byte> zeros(writer.data_bytes());
  ASSERT_TRUE(writer.write(zeros));
  ASSERT_TRUE(writer.finish());
  const auto file = FileBytes::load(path);
  ASSERT_TRUE(file);
  const auto gguf = read_gguf(file->bytes());
  ASSERT_TRUE(gguf.has_value()) << gguf.error().message();
  EXPECT_TRUE(gguf->bool_value(name).value());
  EXPECT_NE(gguf->find(name), nullptr);
}

TEST_F(Writer, CallsOutOfOrderAreErrors) {
  GgufWriter writer(path);
  writer.add_tensor("t", DType::f32, Shape{4});
  EXPECT_FALSE(writer.write(bytes_of("0123")));
  EXPECT_FALSE(writer.finish());
  ASSERT_TRUE(writer.begin());
  ASSERT_TRUE(writer.write(bytes_of("0123456789abcde")));
  EXPECT_FALSE(writer.finish());               // a byte is missing
  EXPECT_FALSE(writer.write(bytes_of("fg")));  // one is too many
  writer.add("late", true);
  EXPECT_FALSE(writer.finish());
}

TEST_F(Writer, AnUnfinishedFileLeavesNothing) {
  const std::string old = folder.file("out.gguf", "the old file");
  {
    GgufWriter writer(path);
    writer.add_tensor("t", DType::f32, Shape{1 << 20});
    ASSERT_TRUE(writer.begin());
    ASSERT_TRUE(writer.write(bytes_of(std::string(1 << 20, 'x'))));
  }
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(read_file(old), "the old file");
}

TEST_F(Writer, AStopLeavesNothing) {
  StopSource source;
  GgufWriter writer(path, source.token());
  writer.add_tensor("t", DType::f32, Shape{1 << 20});
  ASSERT_TRUE(writer.begin());
  const std::string piece(256 << 10, 'x');
  ASSERT_TRUE(writer.write(bytes_of(piece)));
  source.request_stop();
  const auto stopped = writer.write(bytes_of(piece));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::stopped);
  EXPECT_EQ(folder.entries(), 0U);
  EXPECT_EQ(writer.write(bytes_of(piece)).error().code(), Code::stopped);
  EXPECT_EQ(writer.finish().error().code(), Code::stopped);
}

TEST_F(Writer, ADiskWithoutRoomIsRefusedAtOnce) {
  GgufWriter writer(path);
  writer.add_tensor("t", DType::f32, Shape{std::uint64_t{1} << 55});
  const auto begun = writer.begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), Code::io);
  EXPECT_NE(begun.error().message().find("free some space"), std::string_view::npos)
      << begun.error().message();
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(WriteFully, AFullDiskIsNamed) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "there is no /dev/full here";
  const auto written = write_fully(full, bytes_of("x"), "big.gguf");
  ::close(full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::io);
  EXPECT_NE(written.error().message().find("disk is full"), std::string_view::npos);
  EXPECT_NE(written.error().message().find("'big.gguf'"), std::string_view::npos);
}

TEST(WriteFully, OtherErrorsAreNamed) {
  const auto written = write_fully(-1, bytes_of("x"), "big.gguf");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::io);
}

class Output : public Writer {};

TEST_F(Output, ReplacesTheTargetWhole) {
  folder.file("out.gguf", "old");
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file);
  OutputFile moved = std::move(*file);
  ASSERT_TRUE(moved.write(bytes_of("new")));
  EXPECT_EQ(read_file(path), "old");
  ASSERT_TRUE(moved.commit());
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(moved.write(bytes_of("more")).error().code(), Code::internal);
}

TEST_F(Output, AssigningRemovesTheOldTemporary) {
  auto one = OutputFile::create(folder / "one");
  auto two = OutputFile::create(folder / "two");
  ASSERT_TRUE(one && two);
  *one = std::move(*two);
  ASSERT_TRUE(one->commit());
  EXPECT_TRUE(std::filesystem::exists(folder / "two"));
  EXPECT_EQ(folder.entries(), 1U);
}

TEST_F(Output, TwoWritersOfOneTarget) {
  auto one = OutputFile::create(path);
  auto two = OutputFile::create(path);
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(one->write(bytes_of("one")));
  ASSERT_TRUE(two->write(bytes_of("two")));
  ASSERT_TRUE(two->commit());
  ASSERT_TRUE(one->commit());
  EXPECT_EQ(read_file(path), "one");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST_F(Output, FollowsASymbolicLink) {
  const std::string real = folder.file("real", "old");
  std::filesystem::create_symlink(real, path);
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes_of("new")));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_EQ(read_file(real), "new");
}

TEST_F(Output, ATargetThatCanNotBeReplaced) {
  EXPECT_EQ(OutputFile::create(folder / "").error().code(), Code::invalid_argument);
  EXPECT_EQ(OutputFile::create("/dev/null").error().code(), Code::invalid_argument);
  EXPECT_EQ(OutputFile::create("").error().code(), Code::invalid_argument);
  EXPECT_EQ(OutputFile::create(folder / "none/out").error().code(), Code::not_found);
  EXPECT_EQ(folder.entries(), 0U);
}

TEST_F(Output, TheLongestName) {
  const std::string longest(255, 'x');
  auto file = OutputFile::create(folder / longest);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::exists(folder / longest));
  const auto longer = OutputFile::create(folder / (longest + "x"));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code(), Code::invalid_argument);
  EXPECT_NE(longer.error().message().find("too long"), std::string_view::npos);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST_F(Output, ATargetThatBecameAFolder) {
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file);
  std::filesystem::create_directory(path);
  EXPECT_EQ(file->commit().error().code(), Code::io);
  EXPECT_EQ(folder.entries(), 1U);  // the folder; the temporary file is gone
}

}  // namespace
}  // namespace tacet
