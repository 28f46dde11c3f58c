#pragma once

#include <fmt/format.h>

#include <new>
#include <type_traits>
#include <utility>

#include "tacet/error.hpp"

namespace tacet {

/// `return fail(Code::corrupt, "{} ends early.", name);`
template <typename... Args>
tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}

/// Hands on the error of another result.
template <typename T>
tl::unexpected<Error> fail(Result<T>&& result) {
  return tl::unexpected(std::move(result.error()));
}

/// The guard of a public door: runs `body`, which returns a Result, and turns `std::bad_alloc` into
/// an Error.
template <typename Body>
std::invoke_result_t<Body> guard(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Error::no_memory());
  }
}

}  // namespace tacet
