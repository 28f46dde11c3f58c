#include "text/jinja/meter.hpp"

#include <algorithm>

#include "formats/gguf/value.hpp"

namespace tacet::jinja {
namespace {

constexpr int kMaxValueDepth = 64;
constexpr std::uint64_t kValueBytes = 64;  // a value with what the allocator adds

}  // namespace

void Meter::keep(Code code, std::string message) {
  if (error_) return;
  error_.emplace(code, fmt::format("The chat template fails at line {}: {}", line_, message));
}

Value Meter::refuse(std::string_view message) {
  if (!error_) {
    error_.emplace(
        Code::invalid_argument,
        fmt::format(
            "The chat template refuses the conversation ({}); change the messages as it says.",
            quoted(message, 512)));
  }
  return {};
}

bool Meter::spend(std::uint64_t steps) {
  if (failed()) return false;
  steps_ += std::min(steps, limits_.steps + 1);
  if (steps_ > limits_.steps) {
    raise(Code::unsupported, "it takes more than {} steps; shorten the conversation.",
          limits_.steps);
  }
  return !failed();
}

bool Meter::take(std::uint64_t bytes) {
  if (failed()) return false;
  bytes_ += std::min(bytes, limits_.memory + 1);
  if (bytes_ > limits_.memory) {
    raise(Code::unsupported, "it takes more than {} bytes; shorten the conversation.",
          limits_.memory);
  }
  return !failed();
}

bool Meter::spend_search(std::size_t text, std::size_t wanted) {
  const std::uint64_t width = std::min(text, wanted) + 1;
  return spend(1 + text * width / 64);
}

bool Meter::spend_scan(std::size_t count, std::size_t size) {
  return spend(count * (1 + size / 64) / 8);
}

Value Meter::checked(Value value) {
  if (value.depth() > kMaxValueDepth) {
    return raise(Code::unsupported, "lists are nested more than {} deep.", kMaxValueDepth);
  }
  return value;
}

Value Meter::text(std::string value) {
  if (!take(value.size() + kValueBytes)) return {};
  return Value::string(std::move(value));
}

Value Meter::list(std::vector<Value> items) {
  if (!take((items.size() + 1) * kValueBytes)) return {};
  return checked(Value::list(std::move(items)));
}

Value Meter::tuple(std::vector<Value> items) {
  if (!take((items.size() + 1) * kValueBytes)) return {};
  return checked(Value::tuple(std::move(items)));
}

Value Meter::group(Value key, Value items) {
  if (!take(3 * kValueBytes)) return {};
  return checked(Value::group(std::move(key), std::move(items)));
}

Value Meter::dict(std::vector<Value::Entry> entries) {
  if (!take((entries.size() * 2 + 1) * kValueBytes)) return {};
  return checked(Value::dict(std::move(entries)));
}

}  // namespace tacet::jinja
