#include "formats/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace tacet {
namespace {

constexpr std::size_t kStep = 256 << 10;
/// Between two calls of the progress: so much, and at least a part of the whole.
constexpr std::uint64_t kProgressStep = 4 << 20;
constexpr std::uint64_t kProgressCalls = 256;
constexpr std::align_val_t kAlignment{64};

/// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Looks at the stop and tells the progress between steps.
class Pace {
 public:
  Pace(const StopToken& stop, const Progress& progress, std::uint64_t total)
      : stop_(stop),
        progress_(progress),
        total_(total),
        step_(std::max(kProgressStep, total / kProgressCalls)) {}

  Result<void> at(std::uint64_t done) {
    if (progress_ && (done == total_ || done - told_ >= step_)) {
      told_ = done;
      progress_(done, total_);
    }
    const StopReason reason = done == total_ ? StopReason::none : stop_.reason();
    if (reason == StopReason::none) return {};
    return fail(Code::stopped, "Loading stopped after {} of {} bytes ({}).", done, total_,
                name(reason));
  }

 private:
  const StopToken& stop_;
  const Progress& progress_;
  std::uint64_t total_;
  std::uint64_t step_;
  std::uint64_t told_ = 0;
};

tl::unexpected<Error> not_regular(const std::string& path) {
  return fail(Code::invalid_argument, "'{}' is not a regular file; copy it into one first.", path);
}

Result<Descriptor> open_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return Descriptor(fd);
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) {
    return fail(Code::not_found, "There is no file '{}'; check the path.", path);
  }
  if (error == EACCES || error == EPERM) {
    return fail(Code::io, "No permission to read '{}'; give yourself read access to it.", path);
  }
  if (error == ENXIO) return not_regular(path);
  if (error == ENAMETOOLONG) {
    return fail(Code::invalid_argument, "The name '{}' is too long; check the path.", path);
  }
  return fail(Code::io, "'{}' can not be opened ({}); check the path and the disk.", path,
              std::strerror(error));
}

Result<std::size_t> regular_size(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return fail(Code::io, "'{}' can not be examined ({}); check the disk.", path,
                std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(Code::invalid_argument, "'{}' is a directory; name a file in it.", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return not_regular(path);
  }
  if (status.st_size == 0) {
    return fail(Code::corrupt, "'{}' is empty; download or convert it again.", path);
  }
  return static_cast<std::size_t>(status.st_size);
}

auto cut_short(const std::string& path) {
  return fail(
      Code::corrupt,
      "'{}' became shorter while it was loaded; wait until nothing writes it and try again.", path);
}

Result<void> read_into(const Descriptor& file, const std::string& path, std::span<std::byte> to,
                       const FileOptions& options) {
  Pace pace(options.stop, options.progress, to.size());
  std::size_t done = 0;
  while (done < to.size()) {
    if (auto ok = pace.at(done); !ok) return ok;
    const std::size_t want = std::min(kStep, to.size() - done);
    const ssize_t got = ::pread(file.get(), to.data() + done, want, static_cast<off_t>(done));
    if (got == 0) return cut_short(path);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(Code::io, "Reading '{}' failed at byte {} ({}); check the disk.", path, done,
                  std::strerror(errno));
    }
    done += static_cast<std::size_t>(got);
  }
  return pace.at(done);
}

/// Reads one byte of each page. Only where the kernel can not populate a map.
void touch(std::span<const std::byte> bytes, std::size_t page) noexcept {
  for (std::size_t i = 0; i < bytes.size(); i += page) {
    static_cast<void>(*static_cast<const volatile std::byte*>(&bytes[i]));
  }
}

}  // namespace

void FileBytes::Unmap::operator()(const std::byte* bytes) const noexcept {
  ::munmap(const_cast<std::byte*>(bytes), size);
}

void FileBytes::Free::operator()(std::byte* bytes) const noexcept {
  ::operator delete(bytes, kAlignment);
}

Result<FileBytes> FileBytes::load(const std::string& path, const FileOptions& options) {
  if (path.find('\0') != std::string::npos) {
    return fail(Code::invalid_argument, "The path holds a zero byte; check the path.");
  }
  auto file = open_file(path);
  if (!file) return fail(std::move(file));
  const auto size = regular_size(*file, path);
  if (!size) return tl::unexpected(size.error());

  FileBytes result;
  if (options.mode == FileMode::read) {
    result.copy_.reset(static_cast<std::byte*>(::operator new(*size, kAlignment, std::nothrow)));
    if (result.copy_ == nullptr) {
      return fail(Code::out_of_memory,
                  "No memory for the {} bytes of '{}'; free some, raise the limit (ulimit -v), or "
                  "map the file instead (LoadMode::map; without --read).",
                  *size, path);
    }
    const std::span<std::byte> to(result.copy_.get(), *size);
    if (auto ok = read_into(*file, path, to, options); !ok) return fail(std::move(ok));
    result.bytes_ = to;
    return result;
  }

  void* address = ::mmap(nullptr, *size, PROT_READ, MAP_SHARED, file->get(), 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    if (error == ENOMEM) {
      return fail(
          Code::out_of_memory,
          "No address space for the {} bytes of '{}'; raise the limit (ulimit -v), or use a "
          "smaller file.",
          *size, path);
    }
    return fail(
        Code::io,
        "'{}' can not be mapped ({}); copy it into memory instead (LoadMode::read; --read).", path,
        std::strerror(error));
  }
  result.map_ =
      std::unique_ptr<const std::byte, Unmap>(static_cast<const std::byte*>(address), Unmap{*size});
  result.bytes_ = std::span(result.map_.get(), *size);
  if (!options.prefault) return result;
  if (auto ok = tacet::prefault(result.bytes_, options.stop, options.progress); !ok) {
    if (ok.error().code() == Code::corrupt) return cut_short(path);
    return fail(std::move(ok));
  }
  return result;
}

FileBytes FileBytes::wrap(std::span<const std::byte> bytes) noexcept {
  FileBytes result;
  result.bytes_ = bytes;
  return result;
}

void FileBytes::release(std::span<const std::byte> part) const noexcept {
  if (map_ == nullptr || part.empty()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto base = reinterpret_cast<std::uintptr_t>(part.data()) -
                    reinterpret_cast<std::uintptr_t>(bytes_.data());
  if (base > bytes_.size() || part.size() > bytes_.size() - base) return;
  const std::size_t first = (base + page - 1) / page * page;
  const std::size_t last = (base + part.size()) / page * page;
  if (first >= last) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

Result<void> prefault(std::span<const std::byte> bytes, const StopToken& stop,
                      const Progress& progress) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Pace pace(stop, progress, bytes.size());
  bool populate = true;
  for (std::size_t done = 0; done < bytes.size(); done += std::min(kStep, bytes.size() - done)) {
    if (auto ok = pace.at(done); !ok) return ok;
    const auto step = bytes.subspan(done, std::min(kStep, bytes.size() - done));
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(step.data()) % page;
    if (populate) {
      auto* start = const_cast<std::byte*>(step.data()) - offset;
      if (::madvise(start, step.size() + offset, MADV_POPULATE_READ) == 0) continue;
      if (errno == EFAULT || errno == EHWPOISON) {
        return fail(Code::corrupt, "The file became shorter while it was loaded; try again.");
      }
      populate = false;
    }
    touch(step, page);
  }
  return pace.at(bytes.size());
}

}  // namespace tacet
