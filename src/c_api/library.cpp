#include "c_api/call.hpp"
#include "c_api/door.hpp"
#include "c_api/process.hpp"

using namespace tacet;
using namespace tacet::c_api;

namespace {

constexpr bool same(Code code, tacet_status status) {
  return static_cast<int>(code) == static_cast<int>(status);
}
static_assert(same(Code::invalid_argument, TACET_INVALID_ARGUMENT));
static_assert(same(Code::not_found, TACET_NOT_FOUND));
static_assert(same(Code::io, TACET_IO));
static_assert(same(Code::corrupt, TACET_CORRUPT));
static_assert(same(Code::unsupported, TACET_UNSUPPORTED));
static_assert(same(Code::out_of_memory, TACET_OUT_OF_MEMORY));
static_assert(same(Code::context_full, TACET_CONTEXT_FULL));
static_assert(same(Code::device_lost, TACET_DEVICE_LOST));
static_assert(same(Code::stopped, TACET_STOPPED));
static_assert(same(Code::shut_down, TACET_SHUT_DOWN));
static_assert(same(Code::internal, TACET_INTERNAL));

static_assert(TACET_VERSION_MAJOR == TACET_BUILD_MAJOR &&
                  TACET_VERSION_MINOR == TACET_BUILD_MINOR &&
                  TACET_VERSION_PATCH == TACET_BUILD_PATCH,
              "tacet.h and the project differ in their version");

}  // namespace

const char* tacet_version(void) {
  return TACET_BUILD_VERSION;
}

const char* tacet_status_name(int status) {
  // All names are literals and end in a zero byte.
  return status == TACET_OK ? "ok" : name(static_cast<Code>(status)).data();
}

const char* tacet_last_error(void) {
  return thread_state().error;
}

int tacet_shutdown(uint32_t timeout_ms) {
  bool ended = false;
  door([&]() -> Result<void> {
    ended = Process::get().shut_down(std::chrono::milliseconds(timeout_ms),
                                     calls_of_this_thread(nullptr));
    return {};
  });
  return ended ? 1 : 0;
}
