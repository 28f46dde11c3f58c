#include "models/layers/config_reader.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tacet::layers {

namespace {

/// Reads `<architecture>.*` keys; the first error sticks.
class ConfigReader {
 public:
  ConfigReader(const Gguf& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  /// A number from 1 to `most`.
  std::uint32_t number(const std::string& suffix, std::uint64_t most,
                       std::optional<std::uint64_t> missing = {}) {
    const std::string key = architecture_ + "." + suffix;
    const auto value = missing ? file_.unsigned_value(key, *missing) : file_.unsigned_value(key);
    if (!value) return record(value.error());
    if (*value < 1 || *value > most)
      return record(Error(Code::corrupt,
                          fmt::format("{} is {}; it should be 1 to {}, convert the model again.",
                                      quoted(key), *value, most)));
    return static_cast<std::uint32_t>(*value);
  }

  /// A number above 0 that a float can divide by.
  float positive(const std::string& suffix, std::optional<double> missing = {}) {
    const std::string key = architecture_ + "." + suffix;
    const auto value = missing ? file_.float_value(key, *missing) : file_.float_value(key);
    if (!value) return static_cast<float>(record(value.error()));
    if (!(*value > 1e-30) || !(*value < 1e30))
      return static_cast<float>(record(Error(
          Code::corrupt,
          fmt::format("{} is {}; it should be above 1e-30 and below 1e30, convert the model again.",
                      quoted(key), *value))));
    return static_cast<float>(*value);
  }

  bool has(const std::string& suffix) const {
    return file_.find_metadata(architecture_ + "." + suffix) != nullptr;
  }

  /// How positions are scaled: linearly, by YaRN or not at all; what would need other scaling is
  /// refused.
  void rope_scaling(ModelConfig& config) {
    config.rope_magnitude = positive("rope.scaling.attn_factor", 1.0);
    const auto type = file_.string_value(architecture_ + ".rope.scaling.type", "linear");
    if (!type) {
      record(type.error());
      return;
    }
    if (*type == "none") return;
    if (*type != "linear" && *type != "yarn") {
      record(Error(Code::unsupported,
                   fmt::format("{}.rope.scaling.type is {}, which this build does not know; use a "
                               "model with none, linear or yarn.",
                               architecture_, quoted(*type))));
      return;
    }
    const float factor = rope_factor();
    config.rope_scale = 1 / factor;
    if (*type == "yarn") yarn(config, factor);
  }

  std::uint32_t record(Error error) {
    if (!error_) error_ = std::move(error);
    return 0;
  }
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  /// Files may give a factor alone, in older ones as rope.scale_linear; 0 means none.
  float rope_factor() {
    const std::string key =
        has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const auto factor = file_.float_value(architecture_ + "." + key, 0.0);
    return factor && *factor == 0 ? 1 : positive(key);
  }

  /// YaRN (arXiv:2309.00071, section 3): pairs that turn more than `fast` times in the context the
  /// model was trained for are not scaled, those that turn less than `slow` times are.
  void yarn(ModelConfig& config, float factor) {
    const std::uint32_t context =
        number("rope.scaling.original_context_length", 1 << 30, config.context_length);
    const double fast = positive("rope.scaling.yarn_beta_fast", 32.0);
    const double slow = positive("rope.scaling.yarn_beta_slow", 1.0);
    if (error_) return;
    if (!(config.rope_base > 1)) {
      record(Error(Code::corrupt, fmt::format("{}.rope.freq_base is {}; it should be above 1 for "
                                              "YaRN, convert the model again.",
                                              architecture_, config.rope_base)));
      return;
    }
    const auto pair_turning = [&](double turns) {
      return config.rope_size * std::log(context / (turns * 2 * std::numbers::pi)) /
             (2 * std::log(double{config.rope_base}));
    };
    const double last = config.rope_size - 1.0;
    const double low = std::clamp(std::floor(pair_turning(fast)), 0.0, last);
    const double high = std::clamp(std::ceil(pair_turning(slow)), low + 0.001, last + 0.001);
    config.rope_low = static_cast<float>(low);
    config.rope_high = static_cast<float>(high);
    if (factor > 1) config.rope_magnitude *= 0.1F * std::log(factor) + 1;
  }

  const Gguf& file_;
  std::string architecture_;
  std::optional<Error> error_;
};

constexpr std::uint64_t most_width = 1 << 20;

}  // namespace

Result<ModelConfig> read_decoder_config(const Gguf& file) {
  const auto architecture = file.string_value("general.architecture");
  if (!architecture) return tl::unexpected(architecture.error());
  ConfigReader read(file, std::string(*architecture));
  ModelConfig config;
  config.architecture = *architecture;
  config.layers = read.number("block_count", 4096);
  config.context_length = read.number("context_length", 1 << 30);
  config.width = read.number("embedding_length", most_width);
  config.hidden = read.number("feed_forward_length", most_width * 16);
  config.heads = read.number("attention.head_count", 65536);
  config.kv_heads = read.number("attention.head_count_kv", 65536, config.heads);
  if (read.error()) return tl::unexpected(*read.error());
  if (const auto experts = file.unsigned_value(config.architecture + ".expert_count", 0);
      experts && *experts > 0)
    return fail(Code::unsupported,
                "The file is a mixture of {} experts, which this build can not run; use a dense "
                "model.",
                *experts);
  const std::uint32_t even_share = config.width / config.heads;
  const bool shared = !read.has("attention.key_length") || !read.has("attention.value_length");
  if (shared && config.width % config.heads != 0)
    return fail(Code::corrupt,
                "{0}.embedding_length is {1}, which is no multiple of the {2} heads of "
                "{0}.attention.head_count; convert the model again.",
                *architecture, config.width, config.heads);
  config.k_head_size = read.number("attention.key_length", 65536, even_share);
  config.v_head_size = read.number("attention.value_length", 65536, even_share);
  const bool has_rope_size = read.has("rope.dimension_count");
  config.rope_size = read.number("rope.dimension_count", 65536, config.k_head_size);
  config.rope_base = read.positive("rope.freq_base", 10000.0);
  read.rope_scaling(config);
  config.epsilon = read.positive("attention.layer_norm_rms_epsilon");
  if (read.error()) return tl::unexpected(*read.error());
  if (config.heads % config.kv_heads != 0)
    return fail(Code::corrupt,
                "The file has {} heads, which is no multiple of its {} key heads; convert the "
                "model again.",
                config.heads, config.kv_heads);
  if (!has_rope_size && config.rope_size % 2 != 0)
    return fail(Code::corrupt,
                "The file's heads have {} elements, an odd number, which can not be rotated in "
                "pairs; convert the model again.",
                config.rope_size);
  if (config.rope_size % 2 != 0 || config.rope_size > config.k_head_size)
    return fail(
        Code::corrupt,
        "{}.rope.dimension_count is {}; it should be even and at most {}, convert the model "
        "again.",
        *architecture, config.rope_size, config.k_head_size);
  const TensorInfo* table = file.find("token_embd.weight");
  if (table == nullptr || table->shape().size() != 2)
    return fail(Code::corrupt,
                "The file has no token_embd.weight of two dimensions; use a complete model.");
  if (table->shape()[0] > (1U << 24))
    return fail(Code::corrupt,
                "token_embd.weight has {} rows, more than any vocabulary; convert the model again.",
                table->shape()[0]);
  config.vocabulary = static_cast<std::uint32_t>(table->shape()[0]);
  return config;
}

}  // namespace tacet::layers
