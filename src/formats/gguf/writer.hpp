#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "formats/gguf/value.hpp"
#include "formats/output_file.hpp"
#include "tacet/stop.hpp"
#include "types/dtype.hpp"

namespace tacet {

/// Writes a GGUF file (version 3, little-endian) whose tensors need not fit in memory: declare
/// metadata and tensors, `begin`, `write` the tensors' data in the order of their declaration,
/// `finish`. The target appears whole or not at all (OutputFile). One thread at a time. A call out
/// of order or a name given twice is the error invalid_argument.
class GgufWriter {
 public:
  /// The stop is looked at before each 256 KiB of data; then the error is Code::stopped.
  explicit GgufWriter(std::string path, StopToken stop = {});

  void add(std::string_view key, std::uint32_t value);
  void add(std::string_view key, float value);
  void add(std::string_view key, bool value);
  void add(std::string_view key, std::string_view value);
  /// A string literal would rather be a bool.
  void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }
  void add(std::string_view key, std::span<const std::string> values);
  void add(std::string_view key, std::span<const std::int32_t> values);
  void add(std::string_view key, std::span<const float> values);
  /// An entry of another file, as it is there.
  void add(const Metadata& entry);

  /// `shape` has the outermost dimension first, 1 to 4 of them, none 0; rows are whole blocks of
  /// `type`.
  void add_tensor(std::string_view name, DType type, std::span<const std::uint64_t> shape);

  /// Bytes of data of all declared tensors, without padding.
  std::uint64_t data_bytes() const noexcept { return data_bytes_; }

  /// Opens the file and writes the header. Tells the first error of the declarations.
  Result<void> begin();
  /// The next bytes of data, in pieces of any size. A piece may span several tensors; padding is
  /// not part of it.
  Result<void> write(std::span<const std::byte> data);
  /// Checks that all data was written, and puts the file in its place.
  Result<void> finish();

 private:
  void check_length(std::string_view what, std::string_view name);
  void key(std::string_view key, MetadataType type);
  void array(std::string_view key, MetadataType element, std::size_t count);
  void declaration_error(Error error);
  Result<void> emit(std::span<const std::byte> bytes);
  Result<void> flush();
  Result<void> pad();

  std::string path_;
  StopToken stop_;
  std::optional<Error> error_;
  std::unordered_set<std::string> keys_;
  std::unordered_set<std::string> names_;
  std::string metadata_;
  std::string descriptions_;
  std::vector<std::uint64_t> tensor_bytes_;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t data_offset_ = 0;  ///< where the next declared tensor begins in the data section

  std::optional<OutputFile> file_;
  std::vector<std::byte> buffer_;
  std::size_t tensor_ = 0;         ///< the tensor that `write` fills
  std::uint64_t tensor_left_ = 0;  ///< bytes that it still needs
};

}  // namespace tacet
