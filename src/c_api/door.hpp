#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"
#include "c_api/thread_state.hpp"
#include "tacet.h"

namespace tacet::c_api {

/// Makes `error` the thread's last error and returns its status.
inline tacet_status report(const Error& error) noexcept {
  set_last_error(error.message());
  return static_cast<tacet_status>(error.code());
}

/// The guard of every function that returns a status: runs `body`, which returns a Result<void>.
/// Exceptions stop here.
template <typename Body>
tacet_status door(Body&& body) noexcept {
  try {
    if (const Result<void> result = body(); !result) return report(result.error());
  } catch (const std::bad_alloc&) {
    return report(Error::no_memory());
  } catch (...) {
    return report(Error::fixed(Code::internal,
                               "An exception reached the C interface: a defect in tacet, or a "
                               "callback that throws."));
  }
  set_last_error({});
  return TACET_OK;
}

inline tl::unexpected<Error> invalid(const char* message) noexcept {
  return tl::unexpected(Error::fixed(Code::invalid_argument, message));
}

/// Checks the struct_size of a struct whose first published form had `first_size` bytes.
inline Result<void> check_size(std::size_t struct_size, std::size_t first_size) noexcept {
  constexpr std::size_t most = 4096;
  if (struct_size < first_size || struct_size > most)
    return invalid("The struct_size of a struct is wrong; set it to sizeof the struct.");
  return {};
}

/// Reads the options that a caller passed, which may be null and may be shorter or longer than
/// ours: what is missing is 0, what we do not know must be 0.
template <typename Options>
Result<Options> read_options(const Options* given, std::size_t first_size) noexcept {
  static_assert(std::is_trivially_copyable_v<Options>);
  Options options{};
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  if (auto checked = check_size(size, first_size); !checked) return fail(std::move(checked));
  const std::span bytes(reinterpret_cast<const std::byte*>(given), size);
  std::memcpy(&options, given, std::min(size, sizeof options));
  if (size > sizeof options && std::ranges::any_of(bytes.subspan(sizeof options),
                                                   [](std::byte b) { return b != std::byte{}; }))
    return invalid("The options have a field that this version of tacet does not know; update it.");
  return options;
}

/// Fills a struct that a caller passed and that may be shorter or longer than ours; its struct_size
/// was checked and stays.
template <typename Struct>
void write_struct(Struct* given, Struct values) noexcept {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = values.struct_size = given->struct_size;
  std::memcpy(given, &values, std::min(size, sizeof values));
}

}  // namespace tacet::c_api
