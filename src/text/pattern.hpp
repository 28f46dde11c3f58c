#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/stop_poll.hpp"

namespace tacet {

/// A compiled PCRE2 pattern for UTF-8 text with Unicode properties. Immutable; any number of
/// threads may use one.
class Pattern {
 public:
  /// Fails with internal if `source` is not a pattern. `jit`: uses PCRE2's JIT compiler where it
  /// has one; otherwise, or without one, the pattern is interpreted: slower, same matches.
  static Result<Pattern> compile(std::string_view source, bool jit = true);

  /// Appends to `pieces` the matches in `text` and what stands between them, in order. `text` must
  /// be valid UTF-8 (see check_utf8). Fails with unsupported if a match takes more steps than are
  /// granted. Ends early if `poll` fired.
  Result<void> cut(std::string_view text, StopPoll& poll,
                   std::vector<std::string_view>& pieces) const;

 private:
  explicit Pattern(std::shared_ptr<const void> code) : code_(std::move(code)) {}
  std::shared_ptr<const void> code_;  ///< a pcre2_code
};

}  // namespace tacet
