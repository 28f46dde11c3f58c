#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/meter.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

/// Appends str(value) as Python writes it; nothing for undefined. Counts what it appends.
void append_text(const Value& value, std::string& out, Meter& meter);
std::string to_text(const Value& value, Meter& meter);
/// Appends repr(value).
void append_repr(const Value& value, std::string& out, Meter& meter);

/// The options of Python's json.dumps.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< none: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// Appends json.dumps(value). Fails for what JSON can not say.
void append_json(const Value& value, const JsonStyle& style, std::string& out, Meter& meter);

/// repr of a float: the shortest digits that read back the same.
std::string number_text(double value);

}  // namespace tacet::jinja
