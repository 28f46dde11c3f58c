// Any bytes as a saved session of a small model: restoring it must neither crash nor leave the
// bytes, and what is restored can go on. The bytes are given the checksum that they should have and
// the number of the model, so that what lies behind these checks is reached too.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_device.hpp"
#include "base/checksum.hpp"
#include "formats/temporary_folder.hpp"
#include "models/synth.hpp"
#include "runtime/session_impl.hpp"

namespace {

using tacet::detail::ModelImpl;
using tacet::detail::SessionImpl;

constexpr std::size_t model_at = 16;  ///< in the file
constexpr std::size_t sum_bytes = sizeof(std::uint64_t);

void require(bool condition) {
  if (!condition) std::abort();
}

std::shared_ptr<const ModelImpl> small_model() {
  const tacet::test::TemporaryFolder folder;
  const std::string path = folder / "model.gguf";
  require(tacet::synth("tiny-llama-one", "F16", path).has_value());
  auto device = tacet::make_cpu_device({.threads = 1});
  require(device.has_value());
  auto engine = std::make_shared<tacet::detail::EngineImpl>(std::move(*device), nullptr);
  auto file = tacet::FileBytes::load(path);
  require(file.has_value());
  auto model = ModelImpl::create(engine, std::move(*file), path);
  require(model.has_value());
  return *model;
}

void restore(const std::shared_ptr<const ModelImpl>& model, std::span<const std::byte> bytes) {
  std::string note;
  auto session = SessionImpl::restore(model, bytes, "fuzz", 0, {}, &note);
  if (!session) {
    require(!session.error().message().empty());
    return;
  }
  require((*session)->tokens().size() <= (*session)->context());
  (*session)->generate({.max_tokens = 2, .shift = tacet::ContextShift{}}, {}, {});
  const auto tokens = static_cast<std::uint32_t>((*session)->tokens().size());
  (*session)->remove(tokens / 3, tokens / 2, true, {});
  require((*session)->truncate(tokens / 4).has_value() || (*session)->tokens().size() < tokens / 4);
  const tacet::Token token[] = {1};
  (*session)->evaluate(token, {}, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const ModelImpl> model = small_model();
  // Elements lie at multiples of 8.
  std::vector<std::uint64_t> room(size / 8 + 1);
  std::byte* bytes = reinterpret_cast<std::byte*>(room.data());
  if (size != 0) std::memcpy(bytes, data, size);
  restore(model, {bytes, size});
  if (size < model_at + 2 * sum_bytes) return 0;
  const std::uint64_t number = model->fingerprint();
  std::memcpy(bytes + model_at, &number, sizeof number);
  tacet::Checksum sum;
  sum.add({bytes, size - sum_bytes});
  const std::uint64_t value = sum.value();
  std::memcpy(bytes + size - sum_bytes, &value, sizeof value);
  restore(model, {bytes, size});
  return 0;
}
