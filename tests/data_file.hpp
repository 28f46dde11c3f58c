#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tacet::test {

/// The tree with models and the data of tests: TACET_DATA_ROOT of the environment, or the one that
/// was built.
inline std::filesystem::path data_root() {
  const char* given = std::getenv("TACET_DATA_ROOT");
  return given != nullptr ? given : TACET_BUILT_DATA_ROOT;
}

/// A file of it, by its path from the root.
inline std::string data_file(const std::string& name) {
  return (data_root() / name).string();
}

}  // namespace tacet::test
