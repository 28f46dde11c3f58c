#include "tacet/engine.hpp"

#include "backends/cpu/cpu_device.hpp"
#include "base/result.hpp"
#include "runtime/model_impl.hpp"

namespace tacet {

Result<Engine> Engine::create(EngineOptions options) {
  return guard([&]() -> Result<Engine> {
    const auto isa = cpu::choose();
    if (!isa) return tl::unexpected(isa.error());
    auto device = make_cpu_device({.threads = options.threads, .isa = *isa});
    if (!device) return fail(std::move(device));
    return Engine(std::make_shared<detail::EngineImpl>(std::move(*device), std::move(options.log)));
  });
}

Result<std::vector<DeviceDescription>> Engine::devices() const {
  return guard([&]() -> Result<std::vector<DeviceDescription>> {
    const Device& device = impl_->device();
    const DeviceInfo& info = device.info();
    return std::vector<DeviceDescription>{
        {info.name, info.description, info.memory_total, device.memory_free(), info.stop_bound}};
  });
}

Result<Model> Engine::load(const std::string& path, const LoadOptions& options) const {
  return guard([&]() -> Result<Model> {
    auto file = FileBytes::load(
        path, {.mode = options.mode == LoadMode::read ? FileMode::read : FileMode::map,
               .prefault = true,
               .stop = options.stop,
               .progress = options.progress});
    if (!file) return fail(std::move(file));
    auto model = detail::ModelImpl::create(impl_, std::move(*file), path, options.stop);
    if (!model) return fail(std::move(model));
    return Model(std::move(*model));
  });
}

Result<Model> Engine::load(std::span<const std::byte> bytes, const LoadOptions& options) const {
  return guard([&]() -> Result<Model> {
    if (auto resident = prefault(bytes, options.stop, options.progress); !resident)
      return fail(std::move(resident));
    auto model = detail::ModelImpl::create(impl_, FileBytes::wrap(bytes), "the model in memory",
                                           options.stop);
    if (!model) return fail(std::move(model));
    return Model(std::move(*model));
  });
}

}  // namespace tacet
