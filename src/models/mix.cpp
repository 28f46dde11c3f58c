#include "models/mix.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace tacet {
namespace {

constexpr Mix kMixes[] = {
    {"F16", DType::f16, 1},        {"BF16", DType::bf16, 32},     {"Q8_0", DType::q8_0, 7},
    {"Q6_K", DType::q6_K, 18},     {"Q5_K_M", DType::q5_K, 17},   {"Q5_K_S", DType::q5_K, 16},
    {"Q5_1", DType::q5_1, 9},      {"Q5_0", DType::q5_0, 8},      {"Q4_K_M", DType::q4_K, 15},
    {"Q4_K_S", DType::q4_K, 14},   {"Q4_1", DType::q4_1, 3},      {"Q4_0", DType::q4_0, 2},
    {"IQ4_NL", DType::iq4_nl, 25}, {"IQ4_XS", DType::iq4_xs, 30}, {"MXFP4", DType::mxfp4, 38},
    {"Q3_K_L", DType::q3_K, 13},   {"Q3_K_M", DType::q3_K, 12},   {"Q3_K_S", DType::q3_K, 11},
    {"Q2_K", DType::q2_K, 10},     {"Q2_K_S", DType::q2_K, 21},
};

/// Where in the model a rule holds.
enum class Place {
  everywhere,
  first_layers_2,
  first_layers_4,
  first_eighth,
  first_sixteenth,
  sensitive,     ///< the first and last eighth of the layers, and every third between
  shared_heads,  ///< where 4 or more heads share their keys and values
};

struct Rule {
  std::string_view mix;
  std::string_view part;  ///< of the tensor's name
  Place place;
  DType type;
};

/// The first that fits decides.
constexpr Rule kRules[] = {
    {"Q2_K", "attn_v.weight", Place::shared_heads, DType::q4_K},
    {"Q2_K", "attn_v.weight", Place::everywhere, DType::q3_K},
    {"Q2_K", "attn_output.weight", Place::everywhere, DType::q3_K},
    {"Q2_K", "ffn_down", Place::everywhere, DType::q3_K},
    {"Q2_K_S", "attn_v.weight", Place::shared_heads, DType::q4_K},
    {"Q2_K_S", "ffn_down", Place::first_eighth, DType::q4_K},
    {"Q3_K_M", "attn_v.weight", Place::first_layers_2, DType::q5_K},
    {"Q3_K_M", "attn_v.weight", Place::everywhere, DType::q4_K},
    {"Q3_K_M", "attn_qkv.weight", Place::everywhere, DType::q4_K},
    {"Q3_K_M", "attn_output.weight", Place::everywhere, DType::q4_K},
    {"Q3_K_M", "ffn_down", Place::first_sixteenth, DType::q5_K},
    {"Q3_K_M", "ffn_down", Place::everywhere, DType::q4_K},
    {"Q3_K_L", "attn_v.weight", Place::everywhere, DType::q5_K},
    {"Q3_K_L", "attn_qkv.weight", Place::everywhere, DType::q4_K},
    {"Q3_K_L", "attn_output.weight", Place::everywhere, DType::q5_K},
    {"Q3_K_L", "ffn_down", Place::everywhere, DType::q5_K},
    {"Q4_K_S", "attn_v.weight", Place::first_layers_4, DType::q5_K},
    {"Q4_K_S", "ffn_down", Place::first_eighth, DType::q5_K},
    {"Q4_K_M", "attn_v.weight", Place::sensitive, DType::q6_K},
    {"Q4_K_M", "attn_qkv.weight", Place::everywhere, DType::q5_K},
    {"Q4_K_M", "ffn_down", Place::sensitive, DType::q6_K},
    {"Q5_K_M", "attn_v.weight", Place::sensitive, DType::q6_K},
    {"Q5_K_M", "attn_qkv.weight", Place::everywhere, DType::q6_K},
    {"Q5_K_M", "ffn_down", Place::sensitive, DType::q6_K},
    {"IQ4_NL", "attn_v.weight", Place::shared_heads, DType::q5_K},
    {"IQ4_NL", "ffn_down", Place::first_eighth, DType::q5_K},
    {"IQ4_XS", "attn_v.weight", Place::shared_heads, DType::q5_K},
    {"IQ4_XS", "ffn_down", Place::first_eighth, DType::q5_K},
};

/// Parts of the names of matrices that keep their type.
constexpr std::string_view kKept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "position_embd.weight",
    "token_types.weight",
    "ssm_conv1d",
    "shortconv.conv",
    "time_mix_",
    "attn_rel_b.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
};

bool has(std::string_view name, std::string_view part) noexcept {
  return name.find(part) != std::string_view::npos;
}

/// N of "blk.N.*"; 0 for other names.
std::uint64_t layer_of(std::string_view name) noexcept {
  constexpr std::string_view start = "blk.";
  std::uint64_t layer = 0;
  if (name.starts_with(start)) {
    std::from_chars(name.data() + start.size(), name.data() + name.size(), layer);
  }
  return layer;
}

bool is_in(Place place, std::uint64_t layer, const MixModel& model) noexcept {
  const std::uint64_t eighth = model.layers / 8;
  switch (place) {
    case Place::everywhere:
      return true;
    case Place::first_layers_2:
      return layer < 2;
    case Place::first_layers_4:
      return layer < 4;
    case Place::first_eighth:
      return layer < eighth;
    case Place::first_sixteenth:
      return layer < model.layers / 16;
    case Place::sensitive:
      return layer < eighth || layer >= 7 * model.layers / 8 || (layer - eighth) % 3 == 2;
    case Place::shared_heads:
      return model.kv_heads != 0 && model.heads / model.kv_heads >= 4;
  }
  return false;
}

DType wanted(const Mix& mix, const MixModel& model, std::string_view name,
             std::uint64_t width) noexcept {
  if (info(mix.base).block_size == 1) return mix.base;
  if (name == "output.weight" || (model.tied && name == "token_embd.weight")) {
    const bool coarse = mix.base == DType::q8_0 || mix.base == DType::mxfp4 || width % 256 != 0;
    return coarse ? DType::q8_0 : DType::q6_K;
  }
  const bool values = has(name, "attn_v.weight");
  if (model.experts == 8 && (values || has(name, "attn_k.weight"))) return DType::q8_0;
  if (model.experts == 8 && has(name, "attn_output.weight") && row_bytes(mix.base, 256) < 176) {
    return DType::q5_K;
  }
  DType type = mix.base;
  const auto rule = std::ranges::find_if(kRules, [&](const Rule& r) {
    return r.mix == mix.name && has(name, r.part) && is_in(r.place, layer_of(name), model);
  });
  if (rule != std::end(kRules)) type = rule->type;
  // In models of 80 layers 8 heads share the same values, so that more bits cost little.
  const bool few_bits = type == DType::q3_K || type == DType::q4_K;
  return values && model.layers == 80 && few_bits ? DType::q5_K : type;
}

/// `type`, or what stands in for it where a row is not whole blocks of it.
DType fitting(DType type, std::uint64_t width) noexcept {
  if (width % info(type).block_size == 0) return type;
  if (width % 32 != 0) return DType::f16;
  switch (type) {
    case DType::q4_K:
      return DType::q5_0;
    case DType::q5_K:
      return DType::q5_1;
    case DType::q6_K:
      return DType::q8_0;
    default:
      return DType::iq4_nl;
  }
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::span<const Mix> mixes() noexcept {
  return kMixes;
}

Result<const Mix*> mix_from_name(std::string_view name) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  std::string names;
  for (const Mix& mix : kMixes) {
    if (std::ranges::equal(name, mix.name, same)) return &mix;
    names += names.empty() ? "" : ", ";
    names += mix.name;
  }
  return fail(Code::invalid_argument, "There is no type '{}' for a whole model; use one of: {}.",
              name, names);
}

bool is_mixed(std::string_view name, std::span<const std::uint64_t> shape) noexcept {
  std::size_t dimensions = shape.size();
  while (dimensions > 0 && shape[shape.size() - dimensions] == 1) --dimensions;
  if (!name.ends_with("weight") || dimensions < 2) return false;
  return std::ranges::none_of(kKept, [&](std::string_view part) { return has(name, part); });
}

DType type_in_mix(const Mix& mix, const MixModel& model, std::string_view name,
                  std::span<const std::uint64_t> shape) noexcept {
  const std::uint64_t width = shape.back();
  return fitting(wanted(mix, model, name, width), width);
}

}  // namespace tacet
