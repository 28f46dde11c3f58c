#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/device.hpp"
#include "formats/gguf/reader.hpp"
#include "graph/op.hpp"

namespace tacet {

/// A weight, in the file or on the device.
struct Weight {
  ValueType type;
  const std::byte* data = nullptr;  ///< aligned to the type's elements
  bool on_device = false;           ///< in a buffer of the device, not the file
};

/// The weights of a file by name. Points into the file's bytes, which must outlive it; tensors that
/// are not aligned there are copied. Immutable after `read`.
class Weights {
 public:
  /// Takes up all tensors of known types; others fail when they are asked for.
  static Result<Weights> read(const Gguf& file);

  /// Puts the weight `name` into another layout: `bytes`, which are of that layout.
  void replace(const std::string& name, Layout layout, std::unique_ptr<Buffer> bytes);

  /// The weight, or null if the file has none of that name.
  Result<const Weight*> find(const std::string& name) const;
  /// All, as pairs of a name and something of this class's own, in the order of their names.
  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }
  /// All bytes and elements.
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t parameters() const noexcept { return parameters_; }
  /// The types by the bytes they take, "q8_0, f32".
  std::string types() const;

 private:
  struct Entry {
    Weight weight;
    std::optional<Error> error;  ///< why it can not be used
  };
  std::map<std::string, Entry> entries_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::uint64_t bytes_ = 0;
  std::uint64_t parameters_ = 0;
};

}  // namespace tacet
