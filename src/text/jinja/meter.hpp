#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

/// What one rendering may use. A template is a program from a file that nobody checked.
struct Limits {
  std::uint64_t steps = 10'000'000;            ///< operations, long ones counted as several
  std::uint64_t memory = 256ULL << 20;         ///< bytes of all values made, even if they are gone
  std::size_t output = std::size_t{64} << 20;  ///< bytes of text
};

/// Counts what a rendering uses and keeps its first error. After an error everything goes on
/// quickly and to no effect: functions return undefined, loops end.
class Meter {
 public:
  explicit Meter(const Limits& limits) : limits_(limits) {}

  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// Counts steps. False if there was an error, or now is.
  bool spend(std::uint64_t steps = 1);
  /// Counts bytes before they are allocated. False as above.
  bool take(std::uint64_t bytes);
  /// Counts a search for one text in another.
  bool spend_search(std::size_t text, std::size_t wanted);

  /// Counts a search for a name of `size` bytes among `count` others.
  bool spend_scan(std::size_t count, std::size_t size);

  /// Keeps an error, which gets the line, unless there was one before. Returns undefined.
  template <typename... Args>
  Value raise(Code code, fmt::format_string<Args...> format, Args&&... args) {
    keep(code, fmt::format(format, std::forward<Args>(args)...));
    return {};
  }
  /// The template was refused by itself.
  Value refuse(std::string_view message);

  /// Values whose bytes are counted.
  Value text(std::string value);
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  Value group(Value key, Value items);
  Value dict(std::vector<Value::Entry> entries);

  const Limits& limits() const noexcept { return limits_; }
  void set_line(int line) noexcept { line_ = line; }
  int line() const noexcept { return line_; }

 private:
  void keep(Code code, std::string message);
  Value checked(Value value);

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t bytes_ = 0;
  int line_ = 0;
  std::optional<Error> error_;
};

}  // namespace tacet::jinja
