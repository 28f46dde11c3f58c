#include "formats/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

namespace tacet {
namespace {

constexpr int kNameAttempts = 100;
/// So much may wait in the system's cache before it is sent to the disk, which keeps `commit`
/// short.
constexpr std::uint64_t kFlushStep = 32 << 20;

tl::unexpected<Error> write_error(int error, std::string_view path) {
  if (error == ENOSPC || error == EDQUOT) {
    return fail(
        Code::io,
        "The disk is full while writing '{}'; free some space or name a file on another disk.",
        path);
  }
  if (error == EFBIG) {
    return fail(
        Code::io,
        "'{}' is larger than this disk or this account allows; name a file on another disk.", path);
  }
  if (error == ENAMETOOLONG) {
    return fail(Code::invalid_argument, "The name '{}' is too long; choose a shorter one.", path);
  }
  if (error == EEXIST) {
    return fail(
        Code::io,
        "'{}' has too many unfinished files beside it; remove those that begin with .part-.", path);
  }
  return fail(Code::io, "Writing '{}' failed ({}); check the disk.", path, std::strerror(error));
}

/// The file that `path` means once symbolic links are followed, if it may be replaced.
Result<std::string> replaceable(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::invalid_argument,
                "The output path is empty or holds a zero byte; name a file.");
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENAMETOOLONG) return write_error(ENAMETOOLONG, path);
    return path;
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(Code::invalid_argument, "'{}' is a directory; name a file in it.", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Code::invalid_argument, "'{}' is not a regular file; name one to write to.", path);
  }
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

/// Whether a file without a name can be given one: through /proc, since the direct way is for root.
bool names_later() noexcept {
  return ::access("/proc/self/fd", X_OK) == 0;
}

/// Calls `make` with names in `folder` until it is true for one, which is then `name`. 0, or errno.
template <typename Make>
int take_name(const std::string& folder, std::string& name, const Make& make) {
  for (int i = 0; i < kNameAttempts; ++i) {
    // Not made from the target's name, which may be as long as a name can be.
    name = fmt::format("{}/.part-{}-{}", folder, ::getpid(), i);
    if (make(name.c_str())) return 0;
    if (errno != EEXIST && errno != EINTR) return errno;
  }
  return EEXIST;
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, std::uint64_t expected_bytes) {
  auto target = replaceable(path);
  if (!target) return fail(std::move(target));
  const std::string folder = folder_of(*target);
  struct statvfs disk {};
  if (expected_bytes != 0 && ::statvfs(folder.c_str(), &disk) == 0) {
    const std::uint64_t available = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    if (expected_bytes > available) {
      return fail(Code::io,
                  "'{}' needs {} bytes but the disk has {} left; free some space or name a file on "
                  "another disk.",
                  path, expected_bytes, available);
    }
  }
  // A file without a name vanishes with the process, however that ends.
  int fd = names_later() ? ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
  if (fd >= 0) return OutputFile(fd, std::move(*target), {});
  std::string temporary;
  const int error = take_name(folder, temporary, [&fd](const char* name) {
    fd = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0;
  });
  if (error == 0) return OutputFile(fd, std::move(*target), std::move(temporary));
  if (error == ENOENT || error == ENOTDIR) {
    return fail(Code::not_found, "There is no folder '{}' to write to; make it first.", folder);
  }
  if (error == EACCES || error == EPERM || error == EROFS) {
    return fail(Code::io, "No permission to write in '{}'; name a file in another folder.", folder);
  }
  return write_error(error, path);
}

OutputFile::OutputFile(int fd, std::string target, std::string temporary) noexcept
    : fd_(fd), target_(std::move(target)), temporary_(std::move(temporary)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      written_(other.written_),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  fd_ = std::exchange(other.fd_, -1);
  written_ = other.written_;
  target_ = std::move(other.target_);
  temporary_ = std::move(other.temporary_);
  return *this;
}

OutputFile::~OutputFile() {
  discard();
}

void OutputFile::discard() noexcept {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

bool OutputFile::name_temporary() {
  if (!temporary_.empty()) return true;
  const std::string self = fmt::format("/proc/self/fd/{}", fd_);
  std::string name;
  errno = take_name(folder_of(target_), name, [&self](const char* free) {
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, free, AT_SYMLINK_FOLLOW) == 0;
  });
  if (errno != 0) return false;
  temporary_ = std::move(name);
  return true;
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) return fail(Code::internal, "This output file is closed; report this as a defect.");
  if (auto ok = write_fully(fd_, bytes, target_); !ok) return ok;
  const std::uint64_t before = written_ / kFlushStep;
  written_ += bytes.size();
  const std::uint64_t after = written_ / kFlushStep;
  if (after > before) {
    // Only a hint: the result comes from fsync.
    static_cast<void>(::sync_file_range(fd_, static_cast<off64_t>(before * kFlushStep),
                                        static_cast<off64_t>((after - before) * kFlushStep),
                                        SYNC_FILE_RANGE_WRITE));
  }
  return {};
}

Result<void> OutputFile::commit() {
  if (fd_ < 0) return fail(Code::internal, "This output file is closed; report this as a defect.");
  if (::fsync(fd_) != 0 || !name_temporary() ||
      ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    discard();
    return write_error(error, target_);
  }
  ::close(std::exchange(fd_, -1));
  // The file is in place; a folder that can not be synced is no reason to say otherwise.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    static_cast<void>(::fsync(folder));
    ::close(folder);
  }
  return {};
}

Result<void> write_fully(int fd, std::span<const std::byte> bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return write_error(done == 0 ? ENOSPC : errno, path);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

}  // namespace tacet
