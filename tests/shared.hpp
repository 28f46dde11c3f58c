#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "data_file.hpp"

namespace tacet::test {

/// A file of the shared folder (TACET_SHARED, or ../shared beside the tree), or nothing where that
/// is not.
inline std::optional<std::string> shared_file(const std::string& name) {
  const char* variable = std::getenv("TACET_SHARED");
  const std::filesystem::path folder =
      variable != nullptr ? std::filesystem::path(variable) : data_root() / "../shared";
  const auto path = folder / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

}  // namespace tacet::test
