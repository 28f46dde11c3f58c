#include <algorithm>

#include "formats/gguf/value.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

constexpr std::uint64_t kItemBytes = 64;

/// Position `index` of `size`, counted from the end if negative; none if outside.
std::optional<std::size_t> position_of(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Value character(const std::string& text, std::int64_t index, Meter& meter) {
  meter.spend(1 + text.size() / 16);
  const auto position = position_of(index, length(text));
  if (!position) return Value::undefined(std::to_string(index));
  const std::string_view rest = std::string_view(text).substr(byte_of(text, *position));
  return meter.text(std::string(rest.substr(0, byte_of(rest, 1))));
}

/// The positions that a slice picks, as Python's slice.indices does.
std::vector<std::size_t> picked(std::size_t size, std::optional<std::int64_t> start,
                                std::optional<std::int64_t> stop, std::int64_t step) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? count - 1 : count;
  const auto bound = [&](std::int64_t index) {
    return std::clamp(index < 0 ? std::max(index, -count - 1) + count : index, lowest, highest);
  };
  const std::int64_t first = start ? bound(*start) : (step < 0 ? highest : lowest);
  const std::int64_t last = stop ? bound(*stop) : (step < 0 ? lowest : highest);
  std::vector<std::size_t> positions;
  // Steps beyond the size pick one item; clamped, so that adding one can not overflow.
  const std::int64_t stride = std::clamp(step, -count - 1, count + 1);
  for (std::int64_t i = first; step < 0 ? i > last : i < last; i += stride) {
    positions.push_back(static_cast<std::size_t>(i));
  }
  return positions;
}

std::optional<std::int64_t> bound_of(const Value& value, Meter& meter) {
  if (value.is_integral()) return value.as_integer();
  if (!value.is(Value::Kind::none)) {
    meter.raise(Code::corrupt, "a slice needs integers, not {}.", name(value.kind()));
  }
  return std::nullopt;
}

std::vector<Value> characters(const std::string& text, Meter& meter) {
  std::vector<Value> items;
  if (!meter.take(length(text) * 2 * kItemBytes)) return items;
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    next_utf8(text, position);
    items.push_back(Value::string(text.substr(start, position - start)));
  }
  return items;
}

}  // namespace

std::string clipped(std::string_view name) {
  return std::string(name.substr(0, 65));
}

const Value* lookup(const Value& dict, const Value& key, Meter& meter) {
  if (key.is(Value::Kind::string)) return lookup(dict, std::string_view(key.as_string()), meter);
  for (const Value::Entry& entry : dict.entries()) {
    if (equal(entry.first, key, meter)) return &entry.second;
  }
  return nullptr;
}

const Value* lookup(const Value& dict, std::string_view key, Meter& meter) {
  if (!meter.spend(1 + dict.entries().size() / 8)) return nullptr;
  for (const Value::Entry& entry : dict.entries()) {
    if (!entry.first.is(Value::Kind::string)) continue;
    if (key.size() == entry.first.as_string().size() && !meter.spend(key.size() / 256)) {
      return nullptr;
    }
    if (entry.first.as_string() == key) return &entry.second;
  }
  return nullptr;
}

void assign(std::vector<Value::Entry>& entries, Value key, Value value, Meter& meter) {
  for (Value::Entry& entry : entries) {
    if (!equal(entry.first, key, meter)) continue;
    entry.second = std::move(value);
    return;
  }
  if (meter.take(2 * kItemBytes)) entries.emplace_back(std::move(key), std::move(value));
}

Value item(const Value& object, const Value& key, Meter& meter) {
  switch (object.kind()) {
    case Value::Kind::undefined:
      return meter.raise(Code::corrupt, "{} is undefined.", quoted(object.undefined_name()));
    case Value::Kind::list:
    case Value::Kind::tuple: {
      if (!key.is_integral()) break;
      const auto position = position_of(key.as_integer(), object.items().size());
      if (position) return object.items()[*position];
      break;
    }
    case Value::Kind::string:
      if (key.is_integral()) return character(object.as_string(), key.as_integer(), meter);
      break;
    case Value::Kind::dict: {
      const Value* found = lookup(object, key, meter);
      if (found != nullptr) return *found;
      break;
    }
    default:
      break;
  }
  return Value::undefined(key.is(Value::Kind::string) ? clipped(key.as_string()) : "item");
}

Value slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Meter& meter) {
  if (object.is(Value::Kind::undefined)) {
    return meter.raise(Code::corrupt, "{} is undefined.", quoted(object.undefined_name()));
  }
  if (!object.is(Value::Kind::string) && !object.is_sequence()) {
    return Value::undefined("slice");
  }
  if (meter.failed()) return {};
  const std::int64_t stride = bound_of(step, meter).value_or(1);
  if (stride == 0) return meter.raise(Code::corrupt, "a slice can not have the step 0.");
  const auto first = bound_of(start, meter);
  const auto last = bound_of(stop, meter);
  const bool is_text = object.is(Value::Kind::string);
  const std::size_t size = is_text ? length(object.as_string()) : object.items().size();
  if (!meter.spend(1 + size / 8) || !meter.take(size * 8)) return {};
  const std::vector<std::size_t> positions = picked(size, first, last, stride);
  if (is_text) {
    const std::string_view text = object.as_string();
    if (stride == 1) {
      if (positions.empty()) return meter.text({});
      const std::size_t begin = byte_of(text, positions.front());
      const std::string_view rest = text.substr(begin);
      return meter.text(std::string(rest.substr(0, byte_of(rest, positions.size()))));
    }
    std::string picks;
    const std::vector<Value> all = characters(object.as_string(), meter);
    if (meter.failed()) return {};
    for (const std::size_t position : positions) picks += all[position].as_string();
    return meter.text(std::move(picks));
  }
  std::vector<Value> items;
  if (!meter.take(positions.size() * kItemBytes)) return {};
  items.reserve(positions.size());
  for (const std::size_t position : positions) items.push_back(object.items()[position]);
  return object.is(Value::Kind::list) ? meter.list(std::move(items))
                                      : meter.tuple(std::move(items));
}

std::vector<Value> iterate(const Value& value, Meter& meter) {
  switch (value.kind()) {
    case Value::Kind::undefined:
      return {};
    case Value::Kind::list:
    case Value::Kind::tuple:
      if (!meter.take(value.items().size() * kItemBytes)) return {};
      return value.items();
    case Value::Kind::string:
      return characters(value.as_string(), meter);
    case Value::Kind::dict: {
      if (!meter.take(value.entries().size() * kItemBytes)) return {};
      std::vector<Value> keys;
      keys.reserve(value.entries().size());
      for (const Value::Entry& entry : value.entries()) keys.push_back(entry.first);
      return keys;
    }
    default:
      meter.raise(Code::corrupt, "{} can not be looped over.", name(value.kind()));
      return {};
  }
}

}  // namespace tacet::jinja
