#pragma once

#include <string_view>

#include "text/jinja/interpreter.hpp"

namespace tacet::jinja {

/// Python's `format % values`, where `values` is a tuple, a dict for "%(name)s", or one value:
/// %s %r %a %d %i %u %x %X %o %f %F %e %E %g %G %c %%, with flags, width and precision of at most
/// 1,000.
Value formatted(std::string_view format, const Value& values, Meter& meter);

/// Python's `format.format(...)`: {}, {0}, {name}, {{ and }}, without conversions and format
/// specifications.
Value format_method(Interpreter& run, const Value& self, const Arguments& arguments);

}  // namespace tacet::jinja
