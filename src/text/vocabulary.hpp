#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tacet {

class Gguf;

/// The kinds of tokens, as numbered by `tokenizer.ggml.token_type` in GGUF.
enum class TokenType : std::int32_t {
  normal = 1,
  unknown,
  control,
  user_defined,
  unused,
  byte,
};

/// A tokenizer as a file describes it, before anything was checked. See docs/gguf.md of ggml,
/// "Tokenizer".
struct VocabularyData {
  std::string model;                      ///< `tokenizer.ggml.model`: "gpt2", "llama", ...
  std::string pre;                        ///< `tokenizer.ggml.pre`: how text is cut into words
  std::vector<std::string> tokens;        ///< one a token id
  std::vector<std::int32_t> token_types;  ///< TokenType; empty means that all are normal
  std::vector<float> scores;              ///< one a token where the model needs them
  std::vector<std::string> merges;        ///< "left right", best first
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> eot;
  std::optional<std::int64_t> padding;
  std::optional<std::int64_t> unknown;
  std::optional<std::int64_t> classifier;  ///< BERT's [CLS]
  std::optional<std::int64_t> separator;   ///< BERT's [SEP]
  std::optional<bool> add_bos;             ///< none: what such models are used to
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;          ///< of llama and t5
  std::optional<bool> remove_extra_whitespaces;  ///< of llama and t5
  std::optional<bool> lowercase;                 ///< of bert; none: as the tokens are
  std::optional<bool> strip_accents;             ///< of bert; none: as `lowercase`
  std::string charsmap;                          ///< see Charsmap; empty if the file has none
  std::string chat_template;                     ///< Jinja; empty if the file has none
};

/// Reads the `tokenizer.*` keys of a file. Fails with corrupt if one has the wrong type, with
/// not_found if the file has no vocabulary. What the values say is checked by `Tokenizer::build`.
Result<VocabularyData> vocabulary_from_gguf(const Gguf& file);

}  // namespace tacet
