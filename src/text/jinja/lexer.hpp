#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacet::jinja {

/// A piece of a template.
struct Token {
  enum class Kind {
    data,            ///< text between tags, after whitespace control
    variable_begin,  ///< {{
    variable_end,    ///< }}
    block_begin,     ///< {%
    block_end,       ///< %}
    name,
    string,   ///< `text` without quotes, escapes resolved
    integer,  ///< `integer`
    number,   ///< `number`
    symbol,   ///< `text` is the operator or bracket
    end,
  };
  Kind kind = Kind::end;
  int line = 1;
  std::string text;
  std::int64_t integer = 0;
  double number = 0;
};

/// Cuts a template into tokens as Python's jinja2 does with trim_blocks and lstrip_blocks on and
/// keep_trailing_newline off, the settings that chat templates are written for. The last token is
/// `end`. `source` must be valid UTF-8. Fails with corrupt and the line.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace tacet::jinja
