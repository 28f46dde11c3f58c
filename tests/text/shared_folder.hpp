#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "data_file.hpp"

namespace tacet::test {

/// A file of the folder that stands beside the project (or in TACET_SHARED); an empty path if it is
/// not there.
inline std::filesystem::path shared_file(const std::string& name) {
  const char* given = std::getenv("TACET_SHARED");
  const std::filesystem::path root = given != nullptr ? given : data_root() / "../shared";
  const std::filesystem::path path = root / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

}  // namespace tacet::test
