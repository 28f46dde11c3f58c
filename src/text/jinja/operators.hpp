#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.hpp"
#include "text/jinja/meter.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

// Python's operators. Each raises what Python would raise, through the meter, and then returns
// undefined or false.

bool truthy(const Value& value) noexcept;
bool equal(const Value& a, const Value& b, Meter& meter);
/// a < b for numbers, texts, lists and tuples.
bool less(const Value& a, const Value& b, Meter& meter);
bool contains(const Value& container, const Value& item, Meter& meter);
/// a OPERATOR b for one of ==, !=, <, <=, >, >=, in, not in.
bool compare(Operator op, const Value& a, const Value& b, Meter& meter);
/// +, -, *, /, //, %, **. Integers beyond 64 bits are an error.
Value arithmetic(Operator op, const Value& a, const Value& b, Meter& meter);
Value negated(const Value& value, Meter& meter);

/// What is kept of a name that is undefined: messages show no more, and a key can be very long.
std::string clipped(std::string_view name);
/// object[key]; undefined if it has none.
Value item(const Value& object, const Value& key, Meter& meter);
/// The value of a key of a dict, or null.
const Value* lookup(const Value& dict, const Value& key, Meter& meter);
const Value* lookup(const Value& dict, std::string_view key, Meter& meter);
/// object[start:stop:step]; undefined or none: left out.
Value slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Meter& meter);
/// What a loop over it sees: items, keys, characters; nothing for undefined.
std::vector<Value> iterate(const Value& value, Meter& meter);
/// Replaces entries with equal keys, or appends.
void assign(std::vector<Value::Entry>& entries, Value key, Value value, Meter& meter);

}  // namespace tacet::jinja
