#pragma once

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
Value escape(Interpreter& run, const Value& input, const Arguments& arguments);

/// Those that take or give lists (join, map, select, sort, ...), and the rest.
const Builtin* find_list_filter(std::string_view name) noexcept;

}  // namespace tacet::jinja::filters
