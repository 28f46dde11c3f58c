#include "formats/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/temporary_folder.hpp"

namespace tacet {
namespace {

/// 9 MiB and a bit of bytes that differ from place to place.
std::string content() {
  std::string text((9 << 20) + 123, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + (i >> 8));
  return text;
}

std::string_view text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class Load : public testing::TestWithParam<FileMode> {
 protected:
  Result<FileBytes> load(const std::string& path, StopToken stop = {}, Progress progress = {}) {
    return FileBytes::load(path, {.mode = GetParam(),
                                  .prefault = true,
                                  .stop = std::move(stop),
                                  .progress = std::move(progress)});
  }
  void expect_error(const std::string& path, Code code, std::string_view message) {
    const auto file = load(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), code) << file.error().message();
    EXPECT_NE(file.error().message().find(message), std::string_view::npos)
        << file.error().message();
  }

  test::TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Modes, Load, testing::Values(FileMode::map, FileMode::read),
                         [](const auto& mode) {
                           return mode.param == FileMode::map ? "map" : "read";
                         });

TEST_P(Load, GivesTheBytesAligned) {
  const std::string expected = content();
  auto file = load(folder.file("f", expected));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(text_of(*file) == expected);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->bytes().data()) % 64, 0U);
  const FileBytes moved = std::move(*file);
  EXPECT_TRUE(text_of(moved) == expected);
  moved.release(moved.bytes().subspan(5000, 1 << 20));
  EXPECT_TRUE(text_of(moved) == expected);
}

TEST_P(Load, TellsTheProgress) {
  std::vector<std::uint64_t> steps;
  const std::string expected = content();
  const auto file =
      load(folder.file("f", expected), {}, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, expected.size());
        steps.push_back(done);
      });
  ASSERT_TRUE(file);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_LT(steps[0], steps[1]);
  EXPECT_EQ(steps[2], expected.size());
}

TEST_P(Load, StopsBeforeItBegins) {
  StopSource source;
  source.request_stop();
  const auto file = load(folder.file("f", content()), source.token());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::stopped);
  EXPECT_NE(file.error().message().find("requested"), std::string_view::npos);
}

TEST_P(Load, StopsWithinAStep) {
  StopSource source;
  std::uint64_t asked_at = 0;
  const auto file =
      load(folder.file("f", content()), source.token(), [&](std::uint64_t done, std::uint64_t) {
        asked_at = done;
        source.request_stop();
      });
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::stopped);
  EXPECT_EQ(asked_at, 4U << 20);
  // Nothing was loaded after the request: the message says how far it got.
  EXPECT_NE(file.error().message().find("after 4194304 of"), std::string_view::npos)
      << file.error().message();
}

TEST_P(Load, AStopAfterTheLastByteIsTooLate) {
  StopSource source;
  const auto file = load(folder.file("f", content()), source.token(),
                         [&](std::uint64_t done, std::uint64_t total) {
                           if (done == total) source.request_stop();
                         });
  EXPECT_TRUE(file);
}

TEST_P(Load, ErrorsSayWhatToDo) {
  expect_error(folder / "none", Code::not_found, "check the path");
  expect_error(folder.file("f", "x") + "/below", Code::not_found, "check the path");
  expect_error(folder / "", Code::invalid_argument, "name a file in it");
  expect_error(folder.file("empty", ""), Code::corrupt, "is empty");
  expect_error(std::string("a\0b", 3), Code::invalid_argument, "zero byte");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(folder / "pipe", Code::invalid_argument, "not a regular file");
  expect_error("/dev/zero", Code::invalid_argument, "not a regular file");
}

TEST_P(Load, NoPermission) {
  const std::string path = folder.file("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // The superuser may read everything, so be somebody else for a moment.
  const bool super = ::geteuid() == 0;
  if (super && ::seteuid(65534) != 0) GTEST_SKIP() << "the superuser here can not become another";
  expect_error(path, Code::io, "No permission");
  if (super) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST_P(Load, AFileThatIsCutShortMeanwhile) {
  const std::string path = folder.file("f", content());
  const auto file = load(
      path, {}, [&](std::uint64_t, std::uint64_t) { std::filesystem::resize_file(path, 5 << 20); });
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::corrupt);
  EXPECT_NE(file.error().message().find("became shorter"), std::string_view::npos)
      << file.error().message();
}

/// Pages of files that this process has in memory.
long resident_file_pages() {
  std::ifstream statm("/proc/self/statm");
  long total = 0;
  long resident = 0;
  long shared = 0;
  statm >> total >> resident >> shared;
  return shared;
}

TEST(Release, GivesMappedPagesBack) {
  const test::TemporaryFolder folder;
  const auto file = FileBytes::load(folder.file("f", content()));
  ASSERT_TRUE(file);
  const long before = resident_file_pages();
  if (before == 0) GTEST_SKIP() << "/proc does not tell how much is in memory";
  file->release(file->bytes().subspan(100, 8 << 20));
  const long given_back = before - resident_file_pages();
  const long pages = (8 << 20) / ::sysconf(_SC_PAGESIZE) - 1;  // the first is released only in part
  EXPECT_GT(given_back, pages * 9 / 10);
  EXPECT_LT(given_back, pages * 11 / 10);
  EXPECT_TRUE(text_of(*file) == content());
}

TEST(Wrap, KeepsTheBytesWhereTheyAre) {
  static constexpr std::byte kBytes[3] = {};
  FileBytes file = FileBytes::wrap(kBytes);
  EXPECT_EQ(file.bytes().data(), kBytes);
  file.release(file.bytes());
  const FileBytes moved = std::move(file);
  EXPECT_EQ(moved.bytes().size(), 3U);
}

TEST(Prefault, AnyPieceOfMemory) {
  const std::vector<std::byte> bytes(1 << 20);
  std::uint64_t last = 0;
  EXPECT_TRUE(prefault(std::span(bytes).subspan(7, 600'001), {},
                       [&](std::uint64_t done, std::uint64_t) { last = done; }));
  EXPECT_EQ(last, 600'001U);
  EXPECT_TRUE(prefault({}, {}));
}

TEST(Prefault, TellsTheProgressOfMuchMemoryInAFewHundredSteps) {
  constexpr std::size_t size = std::size_t{2} << 30;
  void* address =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  std::uint64_t last = 0;
  int calls = 0;
  EXPECT_TRUE(prefault({static_cast<const std::byte*>(address), size}, {},
                       [&](std::uint64_t done, std::uint64_t) {
                         last = done;
                         ++calls;
                       }));
  EXPECT_EQ(last, size);
  EXPECT_GT(calls, 100);
  EXPECT_LE(calls, 257);
  ::munmap(address, size);
}

TEST(LoadOfASocket, IsRefusedAsNoRegularFile) {
  const test::TemporaryFolder folder;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = folder / "s";
  ASSERT_LT(path.size(), sizeof name.sun_path);
  path.copy(name.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  const auto file = FileBytes::load(path);
  ::close(socket);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::invalid_argument);
  EXPECT_NE(file.error().message().find("not a regular file"), std::string_view::npos);
}

}  // namespace
}  // namespace tacet
