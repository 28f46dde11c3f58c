#include "models/layers/config_reader.hpp"

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

  /// Positions are scaled linearly or not at all; what would need other scaling is refused. Files
  /// may give a factor alone, in older ones as rope.scale_linear; 0 means none.
  float rope_scale() {
    const auto type = file_.string_value(architecture_ + ".rope.scaling.type", "linear");
    if (!type) return static_cast<float>(record(type.error()));
    if (*type == "none") return 1;
    if (*type != "linear")
      return static_cast<float>(record(
          Error(Code::unsupported,
                fmt::format("{}.rope.scaling.type is {}, which this build does not know; use a "
                            "model with none or linear.",
                            architecture_, quoted(*type)))));
    const std::string key =
        has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const auto factor = file_.float_value(architecture_ + "." + key, 0.0);
    if (factor && *factor == 0) return 1;
    return 1 / positive(key);
  }

  std::uint32_t record(Error error) {
    if (!error_) error_ = std::move(error);
    return 0;
  }
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
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
  config.rope_scale = read.rope_scale();
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
