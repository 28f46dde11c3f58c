#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf/reader.hpp"
#include "formats/mapped_file.hpp"
#include "shared.hpp"
#include "types/convert.hpp"

namespace tacet::test {

/// A GGUF file of the shared folder, open.
struct SharedModel {
  FileBytes file;
  Gguf gguf;

  /// Nothing where the file is not there; a file that can not be read fails the test by exception.
  static std::optional<SharedModel> open(const std::string& name) {
    const auto path = shared_file("models/" + name);
    if (!path) return std::nullopt;
    FileBytes file = FileBytes::load(*path).value();
    Gguf gguf = read_gguf(file.bytes(), *path).value();
    return SharedModel{std::move(file), std::move(gguf)};
  }

  /// A tensor's elements as floats.
  std::vector<float> floats(std::string_view name) const {
    const TensorInfo& tensor = *gguf.tensor(name).value();
    std::vector<float> values(tensor.elements);
    dequantize(tensor.dtype().value(), tensor.data.data(), values);
    return values;
  }
};

}  // namespace tacet::test
