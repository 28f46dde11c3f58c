#include "tacet/engine.hpp"

#include "base/result.hpp"
#include "runtime/devices.hpp"
#include "runtime/model_impl.hpp"

namespace tacet {

namespace {

DeviceDescription describe(const Device& device) {
  const DeviceInfo& info = device.info();
  return {info.name, info.description, info.memory_total, device.memory_free(), info.stop_bound};
}

}  // namespace

Result<Device*> detail::EngineImpl::host() const {
  if (is_cpu()) return device_.get();
  const std::lock_guard lock(mutex_);
  if (host_ == nullptr) {
    auto opened = open_device("cpu", threads_);
    if (!opened) return fail(std::move(opened));
    host_ = std::move(*opened);
  }
  return host_.get();
}

Result<void> detail::EngineImpl::check(GpuLayers layers) const {
  if (!is_cpu() || layers.is_automatic() || layers == GpuLayers::count(0)) return {};
  return fail(Code::invalid_argument,
              "The engine runs models on the CPU, so no layer can be on a GPU; name a GPU as its "
              "device (--device cuda:0), or ask for no GPU layers (--gpu-layers 0).");
}

Result<Engine> Engine::create(EngineOptions options) {
  return guard([&]() -> Result<Engine> {
    auto device = detail::open_device(options.device, options.threads);
    if (!device) return fail(std::move(device));
    return Engine(std::make_shared<detail::EngineImpl>(std::move(*device), std::move(options.log),
                                                       nullptr, options.threads));
  });
}

Result<DeviceDescription> Engine::device() const {
  return guard([&]() -> Result<DeviceDescription> { return describe(impl_->device()); });
}

Result<std::vector<DeviceDescription>> Engine::devices() const {
  return guard([&]() -> Result<std::vector<DeviceDescription>> {
    std::vector<DeviceDescription> all;
    for (const std::string& name : detail::device_names()) {
      if (name == impl_->device().info().name) {
        all.push_back(describe(impl_->device()));
        continue;
      }
      const auto device = detail::open_device(name, 0);
      if (device)
        all.push_back(describe(**device));
      else
        impl_->log().write(LogLevel::warning, device.error().message());
    }
    return all;
  });
}

Result<Model> Engine::load(const std::string& path, const LoadOptions& options) const {
  return guard([&]() -> Result<Model> {
    if (auto checked = impl_->check(options.gpu_layers); !checked) return fail(std::move(checked));
    auto file = FileBytes::load(
        path, {.mode = options.mode == LoadMode::read ? FileMode::read : FileMode::map,
               .prefault = true,
               .stop = options.stop,
               .progress = options.progress});
    if (!file) return fail(std::move(file));
    auto model =
        detail::ModelImpl::create(impl_, std::move(*file), path, options.stop, options.gpu_layers);
    if (!model) return fail(std::move(model));
    return Model(std::move(*model));
  });
}

Result<Model> Engine::load(std::span<const std::byte> bytes, const LoadOptions& options) const {
  return guard([&]() -> Result<Model> {
    if (auto resident = prefault(bytes, options.stop, options.progress); !resident)
      return fail(std::move(resident));
    auto model = detail::ModelImpl::create(impl_, FileBytes::wrap(bytes), "the model in memory",
                                           options.stop, options.gpu_layers);
    if (!model) return fail(std::move(model));
    return Model(std::move(*model));
  });
}

}  // namespace tacet
