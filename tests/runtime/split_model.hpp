#pragma once

#include "runtime/support.hpp"

namespace tacet::test {

inline constexpr std::uint32_t all_layers = 4;  // of tiny-chat

inline Result<ModelPointer> try_split(
    std::unique_ptr<Device> gpu, std::unique_ptr<Device> host, GpuLayers layers,
    LogFunction log = [](LogLevel, auto) {}) {
  const std::string path = model_path("tiny-chat-Q8_0.gguf");
  auto engine =
      std::make_shared<detail::EngineImpl>(std::move(gpu), std::move(log), std::move(host));
  return ModelImpl::create(engine, FileBytes::load(path).value(), path, {}, layers);
}

inline std::unique_ptr<Device> cpu_device(unsigned threads = 2) {
  return make_cpu_device({.threads = threads, .isa = cpu::available().back()}).value();
}

/// The fused op is rounded once where its parts are rounded twice, so that the cut would show.
inline const FakeOptions unfused{.lacks = {"add_rms_norm"}};

/// tiny-chat on two fake devices.
struct SplitModel {
  explicit SplitModel(std::uint32_t layers = 2, std::uint64_t memory = FakeOptions{}.memory) {
    auto one = std::move(make_fake_device({.name = "host", .lacks = unfused.lacks}).value());
    auto two = std::move(
        make_fake_device({.name = "gpu", .lacks = unfused.lacks, .memory = memory}).value());
    lower = one.get();
    upper = two.get();
    model = try_split(std::move(two), std::move(one), GpuLayers::count(layers)).value();
  }
  std::vector<FakeDevice*> devices() const { return {lower, upper}; }
  FakeDevice* lower;
  FakeDevice* upper;
  ModelPointer model;
};

inline const std::vector<Token> prompt = {1022, 291, 198};

}  // namespace tacet::test
