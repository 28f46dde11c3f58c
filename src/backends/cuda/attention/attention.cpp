#include "backends/cuda/attention/attention.hpp"

#include <algorithm>
#include <bit>

#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"
#include "types/dtype.hpp"

namespace tacet::cuda {

namespace {

/// Whether keys and values of these types and sizes are for the kernels of halves.cu.
bool is_for_halves(DType k_type, DType v_type, std::uint32_t k_size, std::uint32_t v_size) {
  const auto fits = [](DType type) { return type == DType::f16 || has_coded_pieces(type); };
  return fits(k_type) && fits(v_type) && k_size % 8 == 0 && v_size % 8 == 0 &&
         std::max(k_size, v_size) <= most_half_size;
}

std::uint32_t v_size_of(const NodeView& view) {
  const auto attributes = view.attributes->as<ops::AttentionAttributes>();
  return static_cast<std::uint32_t>(attributes.v_size(view.inputs[2].shape.width()));
}

bool is_for_halves(const NodeView& view) {
  return is_for_halves(view.inputs[1].dtype, view.inputs[2].dtype, width_of(view.inputs[1]),
                       v_size_of(view));
}

/// Depends on the most keys of the plan, so that the parts of a query need little memory.
std::uint32_t split_of(const NodeView& view) {
  const auto keys =
      static_cast<std::uint32_t>(view.attributes->as<ops::AttentionAttributes>().max_keys);
  const std::uint32_t least = is_for_halves(view) ? 128 : 64;
  return std::max(least, std::bit_ceil(ceil_div(keys, most_splits)));
}

bool supports(const NodeView& view) {
  const auto fits = [](const ValueType& state) {
    return is_kept(state.dtype) && width_of(state) % info(state.dtype).block_size == 0 &&
           width_of(state) <= 1024;
  };
  return fits(view.inputs[1]) && fits(view.inputs[2]);
}

/// Whether keys are split between blocks. Of each head of the keys there are then not more tiles
/// than it has queries of a row, and `attention_few_rows`.
bool is_few(std::uint32_t rows, std::uint32_t heads) {
  return rows <= attention_few_rows && heads * (1 + attention_few_rows) <= arrival_words;
}

std::size_t workspace(const NodeView& view) {
  const auto attributes = view.attributes->as<ops::AttentionAttributes>();
  const std::uint32_t rows = rows_of(view.inputs[0]);
  if (!is_few(rows, static_cast<std::uint32_t>(attributes.heads))) return 0;
  const std::size_t splits =
      ceil_div(static_cast<std::uint32_t>(attributes.max_keys), split_of(view));
  return rows * static_cast<std::size_t>(attributes.heads) * splits * part_floats(v_size_of(view)) *
         sizeof(float);
}

/// A kernel for heads up to `size`: so many queries of a warp, and keys at once. The names and
/// numbers are those of attention.cu.
struct Variant {
  std::uint32_t size;
  std::uint32_t per_warp;  ///< with many rows; with few it is one
  std::uint32_t keys;
  std::string_view many, few;
};
constexpr Variant variants[] = {
    {64, 8, 32, "many_64", "few_64"},      {128, 8, 32, "many_128", "few_128"},
    {256, 4, 32, "many_256", "few_256"},   {512, 2, 16, "many_512", "few_512"},
    {1024, 1, 8, "many_1024", "few_1024"},
};

void emit(const PlacedNode& node, TapeBuilder& tape) {
  const auto attributes = node.view.attributes->as<ops::AttentionAttributes>();
  AttentionArguments a{};
  a.heads = static_cast<std::uint32_t>(attributes.heads);
  a.scale = attributes.scale;
  a.softcap = attributes.softcap;
  a.max_bias = attributes.max_bias;
  a.window = attributes.window;
  a.values_in_keys = attributes.values_in_keys != 0;
  a.causal = attributes.causal;
  a.q = tape.address<const float>(node.inputs[0]);
  if (node.inputs.size() > 3) a.sinks = tape.address<const float>(node.inputs[3]);
  a.out = tape.address<float>(node.outputs[0]);
  a.parts = tape.address<float>(node.workspace);
  a.arrivals = tape.arrivals;
  a.layer = node.inputs[1].layer;
  a.kv_heads = rows_of(node.view.inputs[1]);
  a.group = a.heads / a.kv_heads;
  a.k_size = width_of(node.view.inputs[1]);
  a.v_size = v_size_of(node.view);
  a.k_type = node.view.inputs[1].dtype;
  a.v_type = node.view.inputs[2].dtype;
  a.split = split_of(node.view);
  a.most_splits = ceil_div(static_cast<std::uint32_t>(attributes.max_keys), a.split);
  a.rows = rows_of(node.view.inputs[0]);
  launch_attention(tape.launches, a, tape.size.multiprocessors);
}

const CudaKernel kernels[] = {
    {{.op = &ops::attention,
      .name = "attention.cuda",
      .supports = supports,
      .workspace = workspace},
     emit},
};

/// Shared memory of the kernels of halves.cu for heads up to `size`.
std::size_t half_shared_bytes(std::uint32_t size, bool few) {
  const std::size_t row = 2 * std::size_t{size}, keys = tile_keys(size);
  if (few) return (2 * half_few_queries + 4 * keys) * row + keys / 8 * 32 * 4 * sizeof(float);
  const std::size_t queries = half_many_queries(size);
  return (2 * queries + 2 * keys) * row + queries * size * sizeof(float);
}

void launch_with_halves(Launches& launches, const AttentionArguments& a, bool few,
                        std::uint32_t multiprocessors) {
  struct Names {
    std::uint32_t size;
    std::string_view many, few;
  };
  constexpr Names names[] = {
      {64, "many_64", "few_64"}, {128, "many_128", "few_128"}, {256, "many_256", "few_256"}};
  const std::uint32_t size = std::max(a.k_size, a.v_size);
  const Names& name =
      *std::ranges::find_if(names, [size](const Names& other) { return size <= other.size; });
  const std::uint32_t queries = few ? half_few_queries : half_many_queries(name.size);
  // Every sequence may end in the middle of a tile. Blocks of the kernel for many rows take further
  // tiles where those are more.
  const std::uint32_t tiles = ceil_div(a.rows * a.group, queries) + std::min(a.rows - 1, 7U);
  const std::uint32_t splits =
      std::clamp(2 * multiprocessors / (tiles * a.kv_heads), 1U, a.most_splits);
  const bool coded = has_coded_pieces(a.k_type) || has_coded_pieces(a.v_type);
  launches.add({coded ? "attention_coded" : "attention_halves", few ? name.few : name.many},
               {tiles, a.kv_heads, few ? splits : 1},
               few ? 32 * half_few_warps(name.size) : half_many_threads, a,
               half_shared_bytes(name.size, few));
}

}  // namespace

void launch_attention(Launches& launches, const AttentionArguments& a,
                      std::uint32_t multiprocessors) {
  const bool few = is_few(a.rows, a.heads);
  if (is_for_halves(a.k_type, a.v_type, a.k_size, a.v_size))
    return launch_with_halves(launches, a, few, multiprocessors);
  const std::uint32_t size = std::max(a.k_size, a.v_size);
  const Variant& variant =
      *std::ranges::find_if(variants, [size](const Variant& other) { return size <= other.size; });
  const std::uint32_t queries = (few ? 1 : variant.per_warp) * attention_warps;
  const std::size_t k_pitch = (a.k_size + 3) / 4 * 4 + 4, v_pitch = (a.v_size + 3) / 4 * 4 + 4;
  const std::size_t shared =
      sizeof(float) *
      (queries * k_pitch + variant.keys * (k_pitch + v_pitch) + queries * variant.keys);
  // Every sequence may end in the middle of a tile.
  const std::uint32_t tiles = ceil_div(a.rows * a.group, queries) + a.rows - 1;
  launches.add({"attention", few ? variant.few : variant.many},
               {std::max(1U, tiles), a.kv_heads, few ? a.most_splits : 1}, attention_threads, a,
               shared);
}

std::span<const CudaKernel> attention_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
