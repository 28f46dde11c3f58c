#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "tacet/stop.hpp"

namespace tacet {

/// Called now and then, and at the end, with the bytes that are done and the bytes in all. It may
/// ask for a stop.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// How a file gets into memory.
enum class FileMode {
  map,   ///< a read-only map; fast and shared, but a file that is cut short later faults when it is
         ///< read
  read,  ///< a copy in memory; safe from changes of the file
};

struct FileOptions {
  FileMode mode = FileMode::map;
  /// Whether to bring mapped pages in before `load` returns, so that later work does not wait for
  /// the disk.
  bool prefault = true;
  /// Stops the load between two steps of 256 KiB; then the error is Code::stopped. Tokens of the
  /// kind `callback` are asked by runs only and do not stop a load.
  StopToken stop{};
  Progress progress{};
};

/// The bytes of a file, or of memory that somebody else owns. Movable, not copyable; the bytes stay
/// where they are when it is moved. Reading from any number of threads is safe.
class FileBytes {
 public:
  FileBytes() noexcept = default;

  /// Loads the file at `path`. Errors: not_found, io, invalid_argument (not a regular file),
  /// corrupt (empty, or cut short while it was read), out_of_memory, stopped.
  static Result<FileBytes> load(const std::string& path, const FileOptions& options = {});

  /// Bytes that live as long as the program, such as an embedded model. Nothing is copied.
  static FileBytes wrap(std::span<const std::byte> bytes) noexcept;

  /// Read mode and maps start at a multiple of 64; wrapped bytes where they are.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Gives the whole mapped pages inside `part` of bytes() back to the system; they are read from
  /// the file again when touched. Does nothing for bytes that are not mapped, or not of bytes().
  void release(std::span<const std::byte> part) const noexcept;

 private:
  struct Unmap {
    std::size_t size;
    void operator()(const std::byte* bytes) const noexcept;
  };
  struct Free {
    void operator()(std::byte* bytes) const noexcept;
  };

  std::span<const std::byte> bytes_;
  std::unique_ptr<const std::byte, Unmap> map_;
  std::unique_ptr<std::byte, Free> copy_;
};

/// Touches every page of `bytes` so that later reads do not wait for the disk, in steps of 256 KiB
/// with a look at `stop` before each. Errors: stopped; corrupt if the file behind a map became
/// shorter.
Result<void> prefault(std::span<const std::byte> bytes, const StopToken& stop,
                      const Progress& progress = {});

}  // namespace tacet
