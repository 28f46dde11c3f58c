#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/jinja/interpreter.hpp"

namespace tacet::jinja {

inline constexpr std::size_t kMostFormatWidth = 1000;  ///< and precision

/// A number that is not negative, as C's printf writes it for `type`, one of eEfFgG.
std::string number_digits(double value, char type, std::size_t precision, bool alternate,
                          Meter& meter);

/// Python's `format % values`, where `values` is a tuple, a dict for "%(name)s", or one value:
/// %s %r %a %d %i %u %x %X %o %f %F %e %E %g %G %c %%, with flags, width and precision of at most
/// 1,000.
Value formatted(std::string_view format, const Value& values, Meter& meter);

/// Python's `format.format(...)`: {}, {0}, {name}, {0.name[key]}, {!r}, {:spec} with fields in the
/// specification, {{ and }}.
Value format_method(Interpreter& run, const Value& self, const Arguments& arguments);

/// Appends Python's format(value, spec): [[fill]align][sign][z][#][0][width][,_][.precision][type]
/// for texts and numbers, an empty one for all else.
void append_formatted(const Value& value, std::string_view spec, std::string& out, Meter& meter);

}  // namespace tacet::jinja
