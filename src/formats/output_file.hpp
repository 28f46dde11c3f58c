#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tacet {

/// A file that appears whole or not at all: bytes go to a file without a name (O_TMPFILE) or, where
/// the disk has none, to a temporary one beside the target, and `commit` puts it in the target's
/// place. Until then, and after any error, the target stays as it was; the destructor removes the
/// temporary file. Where files without names exist, nothing is left even if the process is killed.
/// Movable, not copyable; one thread at a time.
class OutputFile {
 public:
  /// Begins to write `path`. `expected_bytes`, if not 0, is checked against the free space of the
  /// disk. Errors: not_found (no such folder), io (no permission, no space), invalid_argument (a
  /// folder or a device is there, the name is too long).
  static Result<OutputFile> create(const std::string& path, std::uint64_t expected_bytes = 0);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  /// Appends. Errors: io (names the cause: a full disk and what to do about it).
  Result<void> write(std::span<const std::byte> bytes);

  /// Brings everything to the disk and renames the temporary file to the target. Can not be stopped
  /// and may take as long as the disk needs. The object is empty afterwards.
  Result<void> commit();

 private:
  OutputFile(int fd, std::string target, std::string temporary) noexcept;
  void discard() noexcept;
  /// Gives a file without a name its temporary one. False, and errno, if that is not possible.
  bool name_temporary();

  int fd_ = -1;
  std::uint64_t written_ = 0;
  std::string target_;
  std::string temporary_;  ///< empty: the file has no name yet
};

/// Writes all of `bytes` to a file descriptor; `path` is for the messages.
Result<void> write_fully(int fd, std::span<const std::byte> bytes, std::string_view path);

}  // namespace tacet
