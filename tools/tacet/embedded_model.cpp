#include "tacet/embedded_model.hpp"

extern "C" {
extern const std::byte tacet_embedded_model_begin[];
extern const std::byte tacet_embedded_model_end[];
}

namespace tacet::cli {

std::span<const std::byte> embedded_model() noexcept {
  return {tacet_embedded_model_begin, tacet_embedded_model_end};
}

}  // namespace tacet::cli
