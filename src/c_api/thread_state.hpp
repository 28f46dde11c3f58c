#pragma once

#include <string_view>

#include "tacet/error.hpp"

namespace tacet::c_api {

class Call;

/// What the library knows of a thread. Has no destructor and needs no memory, so it may be used
/// while the thread or the process ends, and when memory has run out.
struct ThreadState {
  static constexpr std::size_t error_bytes = 504;
  char error[error_bytes];  ///< text of the last error, ends in a zero byte
  Call* innermost;          ///< the calls of this thread that are in flight
};

ThreadState& thread_state() noexcept;

/// Makes `message` the thread's last error; one that is too long is cut between two characters.
void set_last_error(std::string_view message) noexcept;

}  // namespace tacet::c_api
