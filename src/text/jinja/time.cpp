#include <locale.h>  // NOLINT: newlocale is not in <clocale>
#include <ctime>

#include <array>
#include <memory>
#include <new>
#include <string>

#include "text/jinja/interpreter.hpp"

namespace tacet::jinja {
namespace {

struct LocaleCloser {
  void operator()(locale_t locale) const noexcept { freelocale(locale); }
};
using Locale = std::unique_ptr<std::remove_pointer_t<locale_t>, LocaleCloser>;

/// `format` with what the system does not know: Python's microseconds, and no zone.
std::string python_format(std::string_view format, long microseconds) {
  std::string result;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (format[i] != '%') {
      result += format[i];
    } else if (next == 'f') {
      result += fmt::format("{:06}", microseconds);
      ++i;
    } else if (next == 'z' || next == 'Z') {
      ++i;
    } else {
      result += '%';
      if (next != '\0') result += next;
      ++i;
    }
  }
  return result;
}

}  // namespace

Value strftime_now(Interpreter& run, const Value&, const Arguments& arguments) {
  const Value format = run.argument(arguments, 0, "format", Value());
  if (!format.is(Value::Kind::string)) {
    return run.raise(Code::corrupt, "strftime_now needs a string, not {}.", name(format.kind()));
  }
  constexpr std::size_t kLongest = 256;
  std::array<char, 4096> text;
  if (format.as_string().size() > kLongest) {
    return run.raise(Code::unsupported, "the format of a date is longer than {} bytes.", kLongest);
  }
  const auto now = run.now();
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(now));
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(
      now - std::chrono::floor<std::chrono::seconds>(now));
  std::tm local{};
  const Locale english(newlocale(LC_ALL_MASK, "C", nullptr));
  if (english == nullptr) throw std::bad_alloc();
  if (localtime_r(&seconds, &local) == nullptr) {
    return run.raise(Code::unsupported, "the time is one that no calendar has.");
  }
  // One more character, since no text at all is no error.
  const std::string wanted =
      python_format(format.as_string(), static_cast<long>(rest.count())) + '.';
  const std::size_t size =
      strftime_l(text.data(), text.size(), wanted.c_str(), &local, english.get());
  if (size == 0 || format.as_string().find('\0') != std::string::npos) {
    return run.raise(Code::unsupported, "the format of a date asks for too much.");
  }
  return run.text(std::string(text.data(), size - 1));
}

}  // namespace tacet::jinja
