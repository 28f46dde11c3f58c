#pragma once

#include <mutex>
#include <set>
#include <string>

#include "tacet/engine.hpp"

namespace tacet {

/// Hands log lines to the user's function, one at a time; without one, warnings and errors go to
/// standard error. Thread-safe.
class Log {
 public:
  explicit Log(LogFunction function) : function_(std::move(function)) {}

  void write(LogLevel level, std::string_view line) const;
  /// Writes a line unless one with the same key was written before.
  void once(LogLevel level, const std::string& key, std::string_view line);

 private:
  LogFunction function_;
  mutable std::mutex mutex_;
  std::set<std::string> said_;
};

}  // namespace tacet
