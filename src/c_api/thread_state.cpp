#include "c_api/thread_state.hpp"

#include <algorithm>
#include <cstring>

namespace tacet::c_api {

namespace {

// Under the default model the first use in a thread allocates, and the C library ends the process
// if that fails. This one reserves the bytes when the library is loaded.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState state{};

bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

ThreadState& thread_state() noexcept {
  return state;
}

void set_last_error(std::string_view message) noexcept {
  std::size_t size = std::min(message.size(), ThreadState::error_bytes - 1);
  if (size < message.size())
    while (size > 0 && continues_character(message[size])) --size;
  if (size > 0) std::memcpy(state.error, message.data(), size);
  state.error[size] = 0;
}

}  // namespace tacet::c_api
