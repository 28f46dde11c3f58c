#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "types/dtype.hpp"

namespace tacet {

/// A way to give the tensors of a model their types, by the name that users know: "Q4_K_M".
struct Mix {
  std::string_view name;
  DType base;               ///< of most matrices
  std::uint32_t file_type;  ///< GGUF's general.file_type
};

/// All mixes.
std::span<const Mix> mixes() noexcept;
/// The mix with this name, in any case, or an error (`invalid_argument`) that lists them.
Result<const Mix*> mix_from_name(std::string_view name);

/// What the choice of types depends on besides a tensor itself.
struct MixModel {
  std::uint64_t layers = 0;
  std::uint64_t heads = 1;
  std::uint64_t kv_heads = 1;
  std::uint64_t experts = 0;
  bool tied = false;  ///< the embeddings are the output's weights too
};

/// Whether a mix gives the tensor a type: matrices of weights, except those of norms, routers and
/// positions, which keep theirs. `shape` has the outermost dimension first.
bool is_mixed(std::string_view name, std::span<const std::uint64_t> shape) noexcept;

/// The type that a tensor of `is_mixed` gets, as llama.cpp chooses it without an importance matrix:
/// more bits for the output, for values and for the way out of the feed-forward of some layers;
/// rows that are not whole blocks take a type with smaller ones, in the end f16.
DType type_in_mix(const Mix& mix, const MixModel& model, std::string_view name,
                  std::span<const std::uint64_t> shape) noexcept;

}  // namespace tacet
