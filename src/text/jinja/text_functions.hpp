#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja/meter.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

// What string methods and filters share. `limit` and `count` below 0: all.

/// str.split(None) and str.rsplit(None).
Value split_space(std::string_view text, std::int64_t limit, bool from_right, Meter& meter);
/// str.split(separator) and str.rsplit(separator); the separator is not empty.
Value split_text(std::string_view text, std::string_view separator, std::int64_t limit,
                 bool from_right, Meter& meter);
/// str.replace.
Value replaced(std::string_view text, std::string_view before, std::string_view after,
               std::int64_t count, Meter& meter);
/// A line of a text, without its end, and the bytes that it takes with it.
struct Line {
  std::string_view text;
  std::size_t size;
};

/// The line that `text`, which is not empty, starts with; lines end as for str.splitlines.
Line first_line(std::string_view text) noexcept;
/// str.title: words begin upper, go on lower.
std::string title(std::string_view text);
/// A list of (key, value) tuples.
Value entries_of(const Value& dict, Meter& meter);

}  // namespace tacet::jinja
