#include "c_api/door.hpp"
#include "c_api/handles.hpp"

using namespace tacet;
using namespace tacet::c_api;

namespace {

constexpr std::size_t load_options_size = sizeof(tacet_load_options);
constexpr std::size_t model_info_size = sizeof(tacet_model_info);

GpuLayers gpu_layers_of(std::int32_t given) noexcept {
  if (given == TACET_GPU_LAYERS_ALL) return GpuLayers::all();
  if (given == TACET_GPU_LAYERS_NONE) return GpuLayers::count(0);
  return given == 0 ? GpuLayers::automatic() : GpuLayers::count(static_cast<std::uint32_t>(given));
}

/// Loads through `load`, which is given the options of the C++ API.
template <typename Load>
Result<void> load_model(tacet_engine* engine, const tacet_load_options* options,
                        tacet_model** model, Load&& load) {
  if (model == nullptr) return invalid("There is no place for the model; pass its address.");
  *model = nullptr;
  Call call;
  if (auto begun = call.begin(engine); !begun) return begun;
  const auto given = read_options(options, load_options_size);
  if (!given) return tl::unexpected(given.error());
  if (given->mode != TACET_LOAD_MAP && given->mode != TACET_LOAD_READ)
    return invalid("There is no such load mode; use TACET_LOAD_MAP or TACET_LOAD_READ.");
  if (given->gpu_layers < TACET_GPU_LAYERS_NONE)
    return invalid(
        "There is no such number of layers; use one above 0, 0, TACET_GPU_LAYERS_ALL or "
        "TACET_GPU_LAYERS_NONE.");
  LoadOptions wanted{.mode = given->mode == TACET_LOAD_READ ? LoadMode::read : LoadMode::map,
                     .stop = call.stop(given->stop_byte),
                     .progress = {},
                     .gpu_layers = gpu_layers_of(given->gpu_layers)};
  if (given->progress != nullptr)
    wanted.progress = [progress = given->progress, data = given->progress_user_data](
                          std::uint64_t done, std::uint64_t total) { progress(data, done, total); };
  auto loaded = load(engine->engine, wanted);
  if (!loaded) return fail(std::move(loaded));
  *model = new tacet_model(std::move(*loaded));
  return {};
}

}  // namespace

tacet_status tacet_model_load(tacet_engine* engine, const char* path,
                              const tacet_load_options* options, tacet_model** model) {
  return door([&] {
    return load_model(engine, options, model,
                      [&](const Engine& on, const LoadOptions& wanted) -> Result<Model> {
                        if (path == nullptr)
                          return invalid("The path is NULL; pass the path of a GGUF file.");
                        return on.load(path, wanted);
                      });
  });
}

tacet_status tacet_model_load_memory(tacet_engine* engine, const void* bytes, size_t size,
                                     const tacet_load_options* options, tacet_model** model) {
  return door([&] {
    return load_model(
        engine, options, model, [&](const Engine& on, const LoadOptions& wanted) -> Result<Model> {
          if (bytes == nullptr) return invalid("The bytes are NULL; pass those of a GGUF file.");
          return on.load(std::span(static_cast<const std::byte*>(bytes), size), wanted);
        });
  });
}

void tacet_model_free(tacet_model* model) {
  free_handle(model);
}

tacet_status tacet_model_get_info(tacet_model* model, tacet_model_info* info) {
  return door([&]() -> Result<void> {
    Call call;
    if (auto begun = call.begin(model); !begun) return begun;
    if (info == nullptr) return invalid("There is no place for the information; pass its address.");
    if (auto checked = check_size(info->struct_size, model_info_size); !checked) return checked;
    const ModelInfo& own = model->model.info();
    write_struct(info, {.struct_size = 0,
                        .architecture = own.architecture.c_str(),
                        .name = own.name.c_str(),
                        .types = own.types.c_str(),
                        .parameters = own.parameters,
                        .weight_bytes = own.weight_bytes,
                        .context_length = own.context_length,
                        .vocabulary = own.vocabulary,
                        .layers = own.layers,
                        .width = own.width});
    return {};
  });
}
