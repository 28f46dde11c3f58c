#pragma once

#include <string>
#include <string_view>

#include "text/jinja/meter.hpp"

namespace tacet::jinja {

/// Appends `text` with & < > ' " as HTML writes them.
void append_escaped(std::string_view text, std::string& out, Meter& meter);
/// Python's html.unescape. Of the 2,231 names it knows those that need no semicolon, and the most
/// usual others; raises unsupported for what may be another.
std::string unescaped(std::string_view text, Meter& meter);

}  // namespace tacet::jinja
