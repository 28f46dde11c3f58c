#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja/interpreter.hpp"

namespace tacet::jinja::filters {

// Filters of text.
Value trim(Interpreter& run, const Value& input, const Arguments& arguments);
Value upper_case(Interpreter& run, const Value& input, const Arguments& arguments);
Value lower_case(Interpreter& run, const Value& input, const Arguments& arguments);
Value capital(Interpreter& run, const Value& input, const Arguments& arguments);
Value titled(Interpreter& run, const Value& input, const Arguments& arguments);
Value replace(Interpreter& run, const Value& input, const Arguments& arguments);
Value indent(Interpreter& run, const Value& input, const Arguments& arguments);
Value center(Interpreter& run, const Value& input, const Arguments& arguments);
Value format(Interpreter& run, const Value& input, const Arguments& arguments);
Value truncate(Interpreter& run, const Value& input, const Arguments& arguments);
Value word_count(Interpreter& run, const Value& input, const Arguments& arguments);
Value word_wrap(Interpreter& run, const Value& input, const Arguments& arguments);
Value pretty(Interpreter& run, const Value& input, const Arguments& arguments);
Value file_size(Interpreter& run, const Value& input, const Arguments& arguments);
// Filters of HTML and addresses.
Value escape(Interpreter& run, const Value& input, const Arguments& arguments);
Value strip_tags(Interpreter& run, const Value& input, const Arguments& arguments);
Value url_encode(Interpreter& run, const Value& input, const Arguments& arguments);
Value xml_attributes(Interpreter& run, const Value& input, const Arguments& arguments);
Value urlize(Interpreter& run, const Value& input, const Arguments& arguments);
// Filters of lists.
Value batch(Interpreter& run, const Value& input, const Arguments& arguments);
Value slices(Interpreter& run, const Value& input, const Arguments& arguments);

/// float(value) of a number or a text of ASCII digits; none if Python would raise.
std::optional<double> number_of(const Value& value);

/// Where a text is filled up.
enum class Side { left, right, both };
/// `text` filled up to `width` characters with `fill`, which is one character.
Value padded(Interpreter& run, std::string_view text, std::int64_t width, std::string_view fill,
             Side side);

/// Those that take or give lists (join, map, select, sort, ...), and the rest.
const Builtin* find_list_filter(std::string_view name) noexcept;

}  // namespace tacet::jinja::filters
