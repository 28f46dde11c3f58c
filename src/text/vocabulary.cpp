#include "text/vocabulary.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include "formats/gguf/reader.hpp"

namespace tacet {
namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";

Result<void> read_string(const Gguf& file, std::string_view key, std::string& target) {
  auto value = file.string_value(key, "");
  if (!value) return fail(std::move(value));
  target = *value;
  return {};
}

Result<void> read_strings(const Gguf& file, std::string_view key,
                          std::vector<std::string>& target) {
  if (file.find_metadata(key) == nullptr) return {};
  auto values = file.string_array(key);
  if (!values) return fail(std::move(values));
  target.assign(values->begin(), values->end());
  return {};
}

Result<void> read_id(const Gguf& file, std::string_view key, std::optional<std::int64_t>& target) {
  if (file.find_metadata(key) == nullptr) return {};
  auto value = file.signed_value(key);
  if (!value) return fail(std::move(value));
  // Some writers store "none" as the largest number of the type.
  if (*value != -1 && *value != std::numeric_limits<std::uint32_t>::max()) target = *value;
  return {};
}

Result<void> read_flag(const Gguf& file, std::string_view key, std::optional<bool>& target) {
  if (file.find_metadata(key) == nullptr) return {};
  auto value = file.bool_value(key);
  if (!value) return fail(std::move(value));
  target = *value;
  return {};
}

Result<void> read_types(const Gguf& file, std::vector<std::int32_t>& target) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const Metadata* entry = file.find_metadata(kKey);
  if (entry == nullptr) return {};
  const std::uint64_t tokens = file.find_metadata(kTokens)->count;
  if (entry->count != tokens) {
    return fail(Code::corrupt,
                "The vocabulary has {} tokens but {} token types; convert the model again.", tokens,
                entry->count);
  }
  auto values = file.int_array(kKey);
  if (!values) return fail(std::move(values));
  target.reserve(values->size());
  for (const std::int64_t value : *values) {
    // Out of range stays out of range; the tokenizer says so.
    const bool small = value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
    target.push_back(small ? static_cast<std::int32_t>(value) : -1);
  }
  return {};
}

Result<void> read_scores(const Gguf& file, std::vector<float>& target) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  if (file.find_metadata(kKey) == nullptr) return {};
  auto values = file.float_array(kKey);
  if (!values) return fail(std::move(values));
  target = std::move(*values);
  return {};
}

Result<void> read_charsmap(const Gguf& file, std::string& target) {
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  const Metadata* entry = file.find_metadata(kKey);
  if (entry == nullptr) return {};
  if (entry->type != MetadataType::array ||
      (entry->element != MetadataType::u8 && entry->element != MetadataType::i8)) {
    return fail(Code::corrupt, "{} is not an array of bytes; convert the model again.", kKey);
  }
  target.assign(reinterpret_cast<const char*>(entry->payload.data()), entry->payload.size());
  return {};
}

}  // namespace

Result<VocabularyData> vocabulary_from_gguf(const Gguf& file) {
  if (file.find_metadata(kTokens) == nullptr) {
    return fail(Code::not_found,
                "The file has no vocabulary ({} is missing); use a model with one.", kTokens);
  }
  VocabularyData data;
  const Result<void> steps[] = {
      read_string(file, "tokenizer.ggml.model", data.model),
      read_string(file, "tokenizer.ggml.pre", data.pre),
      read_strings(file, kTokens, data.tokens),
      read_types(file, data.token_types),
      read_scores(file, data.scores),
      read_strings(file, "tokenizer.ggml.merges", data.merges),
      read_id(file, "tokenizer.ggml.bos_token_id", data.bos),
      read_id(file, "tokenizer.ggml.eos_token_id", data.eos),
      read_id(file, "tokenizer.ggml.eot_token_id", data.eot),
      read_id(file, "tokenizer.ggml.padding_token_id", data.padding),
      read_id(file, "tokenizer.ggml.unknown_token_id", data.unknown),
      read_id(file, "tokenizer.ggml.cls_token_id", data.classifier),
      read_id(file, "tokenizer.ggml.seperator_token_id", data.separator),  // spelled so
      read_flag(file, "tokenizer.ggml.add_bos_token", data.add_bos),
      read_flag(file, "tokenizer.ggml.add_eos_token", data.add_eos),
      read_flag(file, "tokenizer.ggml.add_space_prefix", data.add_space_prefix),
      read_flag(file, "tokenizer.ggml.remove_extra_whitespaces", data.remove_extra_whitespaces),
      read_flag(file, "tokenizer.ggml.normalizer.lowercase", data.lowercase),
      read_flag(file, "tokenizer.ggml.normalizer.strip_accents", data.strip_accents),
      read_charsmap(file, data.charsmap),
      read_string(file, "tokenizer.chat_template", data.chat_template),
  };
  for (const Result<void>& step : steps) {
    if (!step) return tl::unexpected(step.error());
  }
  return data;
}

}  // namespace tacet
