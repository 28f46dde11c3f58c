// What of a model is on which device.

#include <algorithm>
#include <system_error>

#include "runtime/model_impl.hpp"

namespace tacet::detail {

namespace {

double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

std::uint64_t page_count(std::uint32_t context) {
  return (context + KvPool::page_tokens - 1) / KvPool::page_tokens;
}

/// What a model's last layers need on a GPU, estimated: weights, the keys and values of a session,
/// and the values of a run.
class GpuNeeds {
 public:
  /// `graph` and `run`: the model's, for one row and for the most rows.
  GpuNeeds(Graph graph, const Graph& run, const ModelConfig& config)
      : graph_(std::move(graph)),
        pages_(config, DType::f16, DType::f16),
        context_(std::min(config.context_length, default_context)) {
    const Graph layer = take_layers(run, 0, 1);
    for (const Node& node : layer.nodes)
      for (const ValueId id : node.outputs)
        if (layer[id].kind == ValueKind::intermediate)
          run_bytes_ += static_cast<std::uint64_t>(layer[id].type.shape.elements()) * sizeof(float);
    run_bytes_ *= 2;  // workspaces
  }

  std::uint32_t context() const noexcept { return context_; }
  std::uint32_t layers() const noexcept { return static_cast<std::uint32_t>(pages_.layers.size()); }
  std::uint64_t of(std::uint32_t last_layers) const {
    if (last_layers == 0) return 0;
    const std::uint32_t first = layers() - last_layers;
    const std::uint64_t weights = weight_bytes(take_layers(graph_, first, layers()));
    // A layout may take a little more than the file.
    return weights + weights / 32 + page_count(context_) * (pages_.bytes - pages_.begin_of(first)) +
           run_bytes_;
  }
  std::uint32_t that_fit(std::uint64_t free) const {
    return layers_that_fit(layers(), free - free / 64, [this](std::uint32_t n) { return of(n); });
  }

 private:
  Graph graph_;
  PageLayout pages_;
  std::uint32_t context_;
  std::uint64_t run_bytes_ = 0;
};

std::string placement_of(const GpuNeeds& needs, std::uint32_t on_gpu, bool asked,
                         std::string_view gpu, std::string_view host, std::uint64_t free) {
  const std::string why =
      asked ? "as asked"
            : fmt::format("all need about {:.2f} GiB with a context of {} tokens, {:.2f} are free",
                          gib(needs.of(needs.layers())), needs.context(), gib(free));
  if (on_gpu == 0) return fmt::format("All {} layers are on {}: {}.", needs.layers(), host, why);
  if (on_gpu == needs.layers())
    return fmt::format("All {} layers are on {}: {}.", needs.layers(), gpu, why);
  return fmt::format("The last {} of {} layers are on {}, the others on {}: {}.", on_gpu,
                     needs.layers(), gpu, host, why);
}

std::set<std::string> weight_names(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs)
      if (graph[id].kind == ValueKind::weight) names.insert(graph[id].name);
  return names;
}

}  // namespace

Result<Graph> ModelImpl::build(const Part& part, const GraphClass& shape) const {
  auto graph = architecture_->build(config_, part.weights, shape);
  if (!graph || part.place.end_layer - part.place.first_layer == config_.layers) return graph;
  return take_layers(std::move(*graph), part.place.first_layer, part.place.end_layer);
}

/// Decides which layers are where, and brings their weights there.
Result<void> ModelImpl::place(const Gguf& gguf, Weights weights, GpuLayers asked,
                              const StopToken& stop) {
  Device& gpu = engine_->device();
  const std::uint32_t layers = config_.layers;
  if (engine_->is_cpu()) {
    info_.placement = fmt::format("All {} layers are on {}.", layers, gpu.info().name);
    parts_.push_back({{&gpu, 0, layers}, std::move(weights)});
    return arrange_weights(parts_[0], {}, stop);
  }
  auto graph = architecture_->build(config_, weights, {.max_keys = 32});
  if (!graph) return fail(std::move(graph));
  if (graph->streams.size() != layers)
    return fail(Code::internal, "The family {} does not say where its layers begin.",
                architecture_->name);
  auto run = architecture_->build(config_, weights, {.rows = chunk_rows, .max_keys = chunk_rows});
  if (!run) return fail(std::move(run));
  const GpuNeeds needs(std::move(*graph), *run, config_);
  const std::uint64_t free = gpu.memory_free();
  const std::uint32_t fit = free == 0 ? layers : needs.that_fit(free);
  const std::uint32_t on_gpu = asked.is_automatic() ? fit : asked.of(layers);
  if (on_gpu == layers) {
    parts_.push_back({{&gpu, 0, layers}, std::move(weights)});
  } else {
    auto host = engine_->host();
    if (!host) return fail(std::move(host));
    parts_.push_back({{*host, 0, layers - on_gpu}, std::move(weights)});
    if (on_gpu != 0) {
      auto upper_weights = Weights::read(gguf);
      if (!upper_weights) return fail(std::move(upper_weights));
      parts_.push_back({{&gpu, layers - on_gpu, layers}, std::move(*upper_weights)});
      try {
        conductor_ = std::make_unique<Conductor>(**host, gpu);
      } catch (const std::system_error&) {
        return fail(Code::out_of_memory,
                    "The system refuses a thread that conducts {} and {}; raise its limits.",
                    (*host)->info().name, gpu.info().name);
      }
    }
  }
  info_.placement = placement_of(needs, on_gpu, !asked.is_automatic(), gpu.info().name,
                                 parts_.front().place.device->info().name, free);
  if (asked.is_automatic() && on_gpu != layers)
    engine_->log().write(LogLevel::warning, info_.placement);

  std::set<std::string> kept;
  if (parts_.size() > 1) {
    auto lower = build(parts_.front(), {.max_keys = 32});
    if (!lower) return fail(std::move(lower));
    kept = weight_names(*lower);
  }
  for (Part& part : parts_) {
    auto arranged = arrange_weights(part, kept, stop);
    if (arranged) continue;
    if (arranged.error().code() != Code::out_of_memory || part.place.device != &gpu)
      return arranged;
    const std::uint32_t fewer = std::min(fit, on_gpu - (on_gpu + 7) / 8);
    return fail(Code::out_of_memory,
                "{} Of the model's {} layers {} should be on {}; about {} fit: use --gpu-layers {} "
                "(LoadOptions::gpu_layers), the CPU computes the others.",
                arranged.error().message(), layers, on_gpu, gpu.info().name, fewer, fewer);
  }
  return {};
}

/// Brings the weights of a part to its device where that does not read the host's memory, and into
/// the layouts that its kernels ask for, one after the other, and gives back the pages of the file
/// that they came from, but for those `kept`, which another device reads where they are.
Result<void> ModelImpl::arrange_weights(Part& part, const std::set<std::string>& kept,
                                        const StopToken& stop) {
  auto graph = build(part, {.max_keys = 32});
  if (!graph) return fail(std::move(graph));
  part.weight_bytes = weight_bytes(*graph);
  Device& device = *part.place.device;
  const bool stays = device.info().reads_host_memory;
  for (const Node& node : graph->nodes) {
    const Kernel* kernel = device.find(NodeTypes(*graph, node).view());
    if (kernel == nullptr) continue;
    for (const ValueId id : node.inputs) {
      const Value& value = (*graph)[id];
      if (value.kind != ValueKind::weight) continue;
      auto found = part.weights.find(value.name);
      if (!found) return fail(std::move(found));
      const Weight& weight = **found;
      const bool is_matrix = weight.type.shape.rank() == 2;
      const Layout layout = is_matrix ? kernel->layout.value_or(weight.type.layout) : Layout::rows;
      if (weight.type.layout == layout && (stays || weight.on_device)) continue;
      auto bytes = device.arrange(weight.type, weight.data, layout, stop);
      if (!bytes) return fail(std::move(bytes));
      if (stays || !kept.contains(value.name))
        file_.release(
            {weight.data,
             row_bytes(weight.type.dtype, static_cast<std::size_t>(weight.type.shape.elements()))});
      part.weights.replace(value.name, layout, std::move(*bytes));
    }
  }
  return {};
}

std::vector<PlanPlace> ModelImpl::places(const Plan& plan, PlanOptions options) const {
  const PageLayout pages(config_, options.k_type, options.v_type);
  std::vector<PlanPlace> places;
  for (const Part& part : parts_) {
    const auto& [device, first, end] = part.place;
    const Plan& its = &part == &parts_.back() ? plan : *plan.lower;
    places.push_back(
        {.device = device->info().name,
         .first_layer = first,
         .end_layer = end,
         .weight_bytes = part.weight_bytes,
         .kv_bytes = page_count(options.context) * (pages.begin_of(end) - pages.begin_of(first)),
         .arena_bytes = its.arena_bytes});
  }
  return places;
}

}  // namespace tacet::detail
