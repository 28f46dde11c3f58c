#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

/// Lists and dicts of a JSON text may be nested this deep.
inline constexpr std::size_t kMaxJsonNesting = 64;

/// Reads JSON (RFC 8259) as Python's json.loads does: objects keep their order, and of equal keys
/// the last value counts. `what` begins the sentence of an error: "The tools". Fails with
/// invalid_argument, naming the byte, for what is not JSON or nested too deep, and for integers
/// beyond 64 bits.
Result<Value> parse_json(std::string_view text, std::string_view what);

}  // namespace tacet::jinja
