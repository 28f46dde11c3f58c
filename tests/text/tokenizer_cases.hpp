#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared_folder.hpp"
#include "text/vocabulary.hpp"

namespace tacet::test {

using nlohmann::json;

/// data/tokenizer_cases.json, see make_tokenizer_cases.py.
inline const json& cases() {
  static const json* all =
      new json(json::parse(read_text(data_file("tests/text/data/tokenizer_cases.json"))));
  return *all;
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFFU);
  }
  return bytes;
}

template <typename T>
void read(const json& from, const char* key, std::optional<T>& to) {
  if (from.contains(key)) to = from[key].get<T>();
}

/// The vocabulary of a case.
inline VocabularyData vocabulary_of(const json& test) {
  const json& from = cases()["vocabularies"][test["vocabulary"].get<std::string>()];
  VocabularyData data;
  data.model = from["model"];
  data.pre = test["pre"];
  data.tokens = from["tokens"].get<std::vector<std::string>>();
  data.token_types = from["types"].get<std::vector<std::int32_t>>();
  if (from.contains("scores")) data.scores = from["scores"].get<std::vector<float>>();
  if (from.contains("merges")) data.merges = from["merges"].get<std::vector<std::string>>();
  if (from.contains("charsmap")) data.charsmap = from_base64(from["charsmap"].get<std::string>());
  const json& keys = from["keys"];
  read(keys, "bos_token_id", data.bos);
  read(keys, "unknown_token_id", data.unknown);
  read(keys, "seperator_token_id", data.separator);
  read(keys, "add_space_prefix", data.add_space_prefix);
  read(keys, "remove_extra_whitespaces", data.remove_extra_whitespaces);
  read(keys, "normalizer.lowercase", data.lowercase);
  return data;
}

inline const json& tokenizer_case(std::string_view name) {
  const json& all = cases()["cases"];
  return *std::find_if(all.begin(), all.end(),
                       [&](const json& one) { return one["name"] == name; });
}

}  // namespace tacet::test
