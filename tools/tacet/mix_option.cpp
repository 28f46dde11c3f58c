#include "tacet/mix_option.hpp"

#include <fmt/format.h>

#include "models/mix.hpp"

namespace tacet::cli {

std::string mix_names() {
  std::string names;
  for (const Mix& mix : mixes()) names += (names.empty() ? "" : ", ") + std::string(mix.name);
  return names;
}

CLI::Validator mix_name() {
  return CLI::Validator(
      [](std::string& text) {
        if (const auto mix = mix_from_name(text)) {
          text = (*mix)->name;
          return std::string();
        }
        return fmt::format("'{}' is not one of {}", text, mix_names());
      },
      "", "type");
}

}  // namespace tacet::cli
