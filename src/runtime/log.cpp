#include "runtime/log.hpp"

#include <cstdio>

namespace tacet {

void Log::write(LogLevel level, std::string_view line) const {
  const std::lock_guard lock(mutex_);
  if (function_) {
    function_(level, line);
  } else if (level >= LogLevel::warning) {
    std::fprintf(stderr, "tacet: %.*s\n", static_cast<int>(line.size()), line.data());
  }
}

void Log::once(LogLevel level, const std::string& key, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(key).second) return;
  }
  write(level, line);
}

}  // namespace tacet
