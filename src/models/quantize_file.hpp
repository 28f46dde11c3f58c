#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "formats/mapped_file.hpp"
#include "models/mix.hpp"
#include "tacet/stop.hpp"

namespace tacet {

struct QuantizeOptions {
  /// Whether tensors that are quantized already may be quantized again, which adds the errors of
  /// both; else they are an error.
  bool again = false;
  unsigned threads = 0;  ///< that compute; 0: one a core
  /// Looked at every few milliseconds; then the error is Code::stopped and no file is left.
  StopToken stop{};
  Progress progress{};  ///< bytes of the input's tensors; called by the calling thread only
};

struct QuantizeReport {
  std::uint64_t input_bytes = 0;   ///< of tensors
  std::uint64_t output_bytes = 0;  ///< of tensors
  std::uint32_t converted = 0;     ///< tensors that got another type
  std::uint32_t substituted = 0;   ///< those among them whose rows are not whole blocks of the type
                                   ///< that the mix wants
};

/// Writes the GGUF file `in` to `out` with the types of `mix`. Metadata stays, except
/// general.file_type and general.quantization_version, which are set. Tensors that have their type
/// already are copied byte by byte. Needs a few MiB of memory besides the mapped input, which is
/// given back as it is read. `out` appears whole or not at all, and the same input gives the same
/// bytes with any number of threads.
///
/// Errors: those of FileBytes::load, read_gguf and GgufWriter; invalid_argument (`out` is `in`, or
/// a tensor is quantized already), unsupported (a part of a split model, a tensor's type).
Result<QuantizeReport> quantize_file(const std::string& in, const std::string& out, const Mix& mix,
                                     const QuantizeOptions& options = {});

}  // namespace tacet
