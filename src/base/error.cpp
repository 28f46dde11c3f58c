#include "tacet/error.hpp"

namespace tacet {

std::string_view name(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::io:
      return "io";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::context_full:
      return "context_full";
    case Code::device_lost:
      return "device_lost";
    case Code::stopped:
      return "stopped";
    case Code::shut_down:
      return "shut_down";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace tacet
