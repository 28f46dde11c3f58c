#include "formats/gguf/reader.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "formats/gguf_bytes.hpp"
#include "formats/mapped_file.hpp"
#include "shared.hpp"

namespace tacet {
namespace {

using test::Bytes;

class Sample : public testing::TestWithParam<std::uint32_t> {
 protected:
  Bytes file = test::sample(GetParam());
  Gguf gguf = read_gguf(file.span()).value();
};

INSTANTIATE_TEST_SUITE_P(Versions, Sample, testing::Values(2U, 3U));

TEST_P(Sample, IntegersOfAnyWidth) {
  EXPECT_EQ(gguf.version(), GetParam());
  EXPECT_EQ(gguf.alignment(), 32U);
  EXPECT_EQ(gguf.unsigned_value("u8").value(), 200U);
  EXPECT_EQ(gguf.unsigned_value("u16").value(), 60000U);
  EXPECT_EQ(gguf.unsigned_value("i32").value(), 7U);
  EXPECT_EQ(gguf.unsigned_value("u64").value(), ~std::uint64_t{0});
  EXPECT_EQ(gguf.signed_value("i8").value(), -5);
  EXPECT_EQ(gguf.signed_value("i16").value(), -300);
  EXPECT_EQ(gguf.signed_value("i64").value(), -1);
  EXPECT_EQ(gguf.signed_value("u8").value(), 200);
  EXPECT_EQ(gguf.unsigned_value("i8").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.signed_value("u64").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.unsigned_value("f32").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.unsigned_value("bool").error().code(), Code::corrupt);
}

TEST_P(Sample, OtherScalars) {
  EXPECT_EQ(gguf.float_value("f32").value(), 0.5);
  EXPECT_EQ(gguf.float_value("f64").value(), 0.1);
  EXPECT_EQ(gguf.float_value("u8").error().code(), Code::corrupt);
  EXPECT_TRUE(gguf.bool_value("bool").value());
  EXPECT_EQ(gguf.bool_value("u8").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.string_value("string").value(), "caf\xC3\xA9 \xFF");
  EXPECT_EQ(gguf.string_value("strings").error().code(), Code::corrupt);
}

TEST_P(Sample, MissingKeys) {
  const auto error = gguf.unsigned_value("qwen3.block_count").error();
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_NE(error.message().find("'qwen3.block_count'"), std::string_view::npos);
  EXPECT_EQ(gguf.float_value("none").error().code(), Code::not_found);
  EXPECT_EQ(gguf.bool_value("none").error().code(), Code::not_found);
  EXPECT_EQ(gguf.string_value("none").error().code(), Code::not_found);
  EXPECT_EQ(gguf.string_array("none").error().code(), Code::not_found);
  EXPECT_EQ(gguf.signed_value("none").error().code(), Code::not_found);
  EXPECT_EQ(gguf.unsigned_value("none", 4).value(), 4U);
  EXPECT_EQ(gguf.signed_value("none", -4).value(), -4);
  EXPECT_EQ(gguf.float_value("none", 2.5).value(), 2.5);
  EXPECT_FALSE(gguf.bool_value("none", false).value());
  EXPECT_EQ(gguf.string_value("none", "default").value(), "default");
  // A default is for a missing key, not for one that is wrong.
  EXPECT_EQ(gguf.unsigned_value("string", 4).error().code(), Code::corrupt);
}

TEST_P(Sample, Arrays) {
  EXPECT_EQ(gguf.string_array("strings").value(), (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(gguf.int_array("ints").value(), (std::vector<std::int64_t>{-2, 3}));
  EXPECT_EQ(gguf.float_array("floats").value(), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(gguf.int_array("floats").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.float_array("f32").error().code(), Code::corrupt);
  EXPECT_EQ(gguf.string_array("nested").error().code(), Code::corrupt);
  const auto error = gguf.string_array("ints").error();
  EXPECT_NE(error.message().find("'ints'"), std::string_view::npos);
  EXPECT_NE(error.message().find("array of i16"), std::string_view::npos);
}

TEST_P(Sample, MetadataInOrder) {
  ASSERT_EQ(gguf.metadata().size(), 17U);
  EXPECT_EQ(gguf.metadata()[1].key, "u8");
  const Metadata* bools = gguf.find_metadata("bools");
  ASSERT_NE(bools, nullptr);
  EXPECT_EQ(bools->type, MetadataType::array);
  EXPECT_EQ(bools->element, MetadataType::boolean);
  EXPECT_EQ(bools->count, 2U);
  EXPECT_EQ(scalars(*bools, 10), (std::vector<Scalar>{true, false}));
  EXPECT_EQ(scalars(*bools, 1).size(), 1U);
  EXPECT_EQ(file.data.substr(bools->offset + 8, 5), "bools");
  const Metadata* nested = gguf.find_metadata("nested");
  ASSERT_NE(nested, nullptr);
  EXPECT_EQ(nested->element, MetadataType::array);
  EXPECT_EQ(nested->count, 2U);
  EXPECT_TRUE(scalars(*nested, 10).empty());
  EXPECT_EQ(gguf.find_metadata("bool "), nullptr);
}

TEST_P(Sample, Tensors) {
  ASSERT_EQ(gguf.tensors().size(), 3U);
  const TensorInfo* matrix = gguf.tensor("matrix").value();
  ASSERT_EQ(matrix->shape().size(), 2U);
  EXPECT_EQ(matrix->shape()[0], 2U);  // rows first, where the file has the row length first
  EXPECT_EQ(matrix->shape()[1], 3U);
  EXPECT_EQ(matrix->elements, 6U);
  EXPECT_EQ(matrix->dtype().value(), DType::f32);
  ASSERT_EQ(matrix->data.size(), 24U);
  float last = 0.0F;
  std::memcpy(&last, matrix->data.data() + 20, 4);
  EXPECT_EQ(last, 5.0F);
  EXPECT_EQ(matrix->data.data(), file.span().data() + matrix->offset);

  const TensorInfo* blocks = gguf.find("blocks");
  ASSERT_NE(blocks, nullptr);
  EXPECT_EQ(blocks->data.size(), 68U);
  EXPECT_EQ(std::to_integer<int>(blocks->data[67]), 67);

  const TensorInfo* unknown = gguf.find("later");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->type, 99U);
  EXPECT_EQ(unknown->data.size(), 7U);
  EXPECT_EQ(unknown->dtype().error().code(), Code::unsupported);
  EXPECT_NE(unknown->dtype().error().message().find("'later'"), std::string_view::npos);

  EXPECT_EQ(gguf.find("matri"), nullptr);
  EXPECT_EQ(gguf.tensor("gone").error().code(), Code::not_found);
  EXPECT_NE(gguf.tensor("gone").error().message().find("'gone'"), std::string_view::npos);
}

TEST(Gguf, AFileWithoutTensorsMayEndAfterItsMetadata) {
  Bytes file = test::header(0, 1);
  file.key("a", MetadataType::string).string("b");
  const auto gguf = read_gguf(file.span());
  ASSERT_TRUE(gguf);
  EXPECT_TRUE(gguf->tensors().empty());
  EXPECT_EQ(gguf->alignment(), 32U);
}

TEST(Gguf, AlignmentMovesTheData) {
  Bytes file = test::header(1, 1);
  file.key("general.alignment", MetadataType::u32).u32(128);
  test::tensor(file, "t", {4}, 0, 128);
  file.align(128);
  const std::size_t start = file.data.size();
  file.data.resize(start + 128 + 16, 'z');
  const auto gguf = read_gguf(file.span());
  ASSERT_TRUE(gguf) << gguf.error().message();
  EXPECT_EQ(gguf->find("t")->offset, start + 128);
}

TEST(Gguf, AnArrayOfAnotherTypeTakesNoMemory) {
  constexpr std::size_t kCount = 48 << 20;
  test::Bytes file = test::header(0, 1);
  file.key("k", MetadataType::array).u32(0).u64(kCount).raw(std::string(kCount, 'x'));
  const auto gguf = read_gguf(file.span());
  ASSERT_TRUE(gguf.has_value()) << gguf.error().message();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = !gguf->string_array("k") && !gguf->float_array("k");
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::_Exit(refused && usage.ru_maxrss < (400L << 10) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it took more than 400 MiB";
}

TEST(Gguf, MessagesBeginWithTheFileName) {
  const auto gguf = read_gguf({}, "model.gguf");
  ASSERT_FALSE(gguf);
  EXPECT_TRUE(gguf.error().message().starts_with("'model.gguf': "));
}

TEST(Gguf, QuotedShowsBytesAndCutsLongText) {
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted(std::string_view("\x1b[2J\0\xff", 6)), "'\\x1b[2J\\x00\\xff'");
  EXPECT_EQ(quoted(std::string(100, 'a'), 3), "'aaa...'");
}

TEST(Gguf, ReadsARealModel) {
  const auto file = FileBytes::load(test::data_file("models/tiny-chat-Q8_0.gguf"));
  ASSERT_TRUE(file) << file.error().message();
  const auto gguf = read_gguf(file->bytes());
  ASSERT_TRUE(gguf) << gguf.error().message();
  EXPECT_EQ(gguf->string_value("general.architecture").value(), "qwen3");
  EXPECT_EQ(gguf->unsigned_value("qwen3.embedding_length").value(), 256U);
  EXPECT_EQ(gguf->string_array("tokenizer.ggml.tokens").value().size(), 1024U);
  EXPECT_EQ(gguf->int_array("tokenizer.ggml.token_type").value().back(), 3);
  EXPECT_EQ(gguf->tensors().size(), 46U);
  const TensorInfo* down = gguf->find("blk.3.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->shape()[0], 256U);
  EXPECT_EQ(down->shape()[1], 768U);
}

TEST(Gguf, ReadsEverySharedFile) {
  const auto folder = test::shared_file("models");
  if (!folder) GTEST_SKIP() << "the shared models are not here (set TACET_SHARED)";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(*folder).parent_path())) {
    if (entry.path().extension() != ".gguf") continue;
    const auto file = FileBytes::load(entry.path().string());
    ASSERT_TRUE(file) << file.error().message();
    const auto gguf = read_gguf(file->bytes(), entry.path().string());
    ASSERT_TRUE(gguf) << gguf.error().message();
    ++files;
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace tacet
