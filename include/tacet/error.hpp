#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tacet {

/// What kind of failure an Error is. The C ABI has the same values (tacet_status).
enum class Code {
  invalid_argument = 1,  ///< the caller asked for something that makes no sense
  not_found,             ///< a file, a tensor or a device that does not exist
  io,                    ///< the operating system refused to read or write
  corrupt,               ///< a file that contradicts itself or its format
  unsupported,           ///< valid, but not something this build can do
  out_of_memory,         ///< an allocation failed
  context_full,          ///< the session has no room for the tokens
  device_lost,           ///< the device is closed for this process
  stopped,               ///< a load or a compilation stopped on cue
  shut_down,             ///< the library was shut down
  internal,              ///< a defect in tacet
};

/// The name of a code, as printed in JSON: "out_of_memory".
std::string_view name(Code code) noexcept;

/// A failure: a code, and one sentence for a person that says what to do. Value type. Making one
/// from a string literal through `fixed` allocates nothing, so that lack of memory can be reported
/// too.
class Error {
 public:
  Error(Code code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

  /// An error whose text has static storage duration. Never allocates.
  static Error fixed(Code code, const char* message) noexcept {
    return Error(Fixed{}, code, message);
  }

  /// The answer to a `std::bad_alloc` that reached a public door. Never allocates.
  static Error no_memory() noexcept {
    return fixed(Code::out_of_memory,
                 "Out of memory on the host; free some, or use a smaller context or model.");
  }

  Code code() const noexcept { return code_; }
  std::string_view message() const noexcept {
    return fixed_ != nullptr ? std::string_view(fixed_) : std::string_view(message_);
  }

 private:
  struct Fixed {};
  Error(Fixed, Code code, const char* message) noexcept : code_(code), fixed_(message) {}

  Code code_;
  const char* fixed_ = nullptr;
  std::string message_;
};

/// A value or an Error.
template <typename T>
using Result = tl::expected<T, Error>;

}  // namespace tacet
