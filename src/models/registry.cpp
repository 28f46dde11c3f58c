#include "models/architecture.hpp"
#include "models/families.hpp"

namespace tacet {

std::span<const Architecture> architectures() noexcept {
  static const Architecture known[] = {models::llama, models::qwen2, models::qwen3};
  return known;
}

Result<const Architecture*> architecture_of(const Gguf& file) {
  const auto name = file.string_value("general.architecture");
  if (!name) return fail(name.error().code(), "{}", name.error().message());
  std::string known;
  for (const Architecture& architecture : architectures()) {
    if (architecture.name == *name) return &architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return fail(Code::unsupported,
              "The file's architecture is {}, which this build does not know; use a model of one "
              "of these: {}.",
              quoted(*name), known);
}

}  // namespace tacet
