#include "backends/cuda/tape.hpp"

namespace tacet::cuda {

namespace {

/// A kernel that returns at once takes about 3 us of a queue that is drained (H200): with two
/// segments in flight that is 50 us. Segments of 24 would make a decode 4% faster.
constexpr std::size_t most_launches = 8;
/// And no more work than this, by the estimate.
constexpr double most_seconds = 100e-6;
/// Kernels of plans of so many rows begin early: what such a kernel waits for is its weights. With
/// more rows the waiting blocks only take room from those that work (prompts were 1 to 15% slower).
constexpr std::uint32_t most_early_rows = 32;

/// Adds a launch behind `last`, which becomes it.
Result<void> add(const Launch& launch, RunContext context, const Gpu& gpu, LoadedKernels& kernels,
                 bool early, CUgraph graph, CUgraphNode& last) {
  auto kernel = kernels.find(launch.kernel, launch.shared_bytes);
  if (!kernel) return fail(std::move(kernel));
  auto arguments = launch.arguments;
  void* parameters[] = {arguments.data(), &context};
  CUDA_KERNEL_NODE_PARAMS node{};
  node.kern = *kernel;
  node.gridDimX = launch.grid.x;
  node.gridDimY = launch.grid.y;
  node.gridDimZ = launch.grid.z;
  node.blockDimX = launch.threads;
  node.blockDimY = node.blockDimZ = 1;
  node.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  node.kernelParams = parameters;
  const CUgraphNode before = last;
  const bool begins_early = before != nullptr && early;
  const bool has_edge = before != nullptr && !begins_early;
  auto status = gpu.driver->graph_add_kernel(&last, graph, has_edge ? &before : nullptr,
                                             has_edge ? 1 : 0, &node);
  if (status == CUDA_SUCCESS && begins_early) {
    CUgraphEdgeData edge{};
    edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    status = gpu.driver->graph_add_dependencies(graph, &before, &last, &edge, 1);
  }
  if (status != CUDA_SUCCESS) return gpu.driver->failure(status, "a kernel was recorded");
  return {};
}

Result<CUgraphExec> make_graph(std::span<const Launch> launches, bool early,
                               const RunContext& context, const Gpu& gpu, LoadedKernels& kernels) {
  CUgraph graph = nullptr;
  auto status = gpu.driver->graph_create(&graph, 0);
  if (status != CUDA_SUCCESS) return gpu.driver->failure(status, "a graph was begun");
  CUgraphNode last = nullptr;
  Result<void> added;
  for (const Launch& launch : launches)
    if (added = add(launch, context, gpu, kernels, early, graph, last); !added) break;
  CUgraphExec executable = nullptr;
  if (added) status = gpu.driver->graph_instantiate(&executable, graph, 0);
  gpu.driver->graph_destroy(graph);
  if (!added) return fail(std::move(added));
  if (status != CUDA_SUCCESS) return gpu.driver->failure(status, "a graph was made");
  return executable;
}

}  // namespace

Segment::~Segment() {
  if (graph_ == nullptr) return;
  const auto scope = gpu_.scope();
  gpu_.driver->graph_exec_destroy(graph_);
}

Result<std::vector<Segment>> make_segments(std::span<const Launch> launches, std::uint32_t rows,
                                           const RunContext& context, const Gpu& gpu,
                                           LoadedKernels& kernels) {
  std::vector<Segment> segments;
  const bool early = gpu.begins_early && rows <= most_early_rows;
  for (std::size_t first = 0; first < launches.size();) {
    std::size_t end = first;
    double seconds = 0;
    while (end < launches.size() && end - first < most_launches &&
           (end == first || seconds + launches[end].seconds <= most_seconds))
      seconds += launches[end++].seconds;
    segments.reserve(segments.size() + 1);
    auto graph = make_graph(launches.subspan(first, end - first), early, context, gpu, kernels);
    if (!graph) return fail(std::move(graph));
    segments.emplace_back(gpu, *graph, static_cast<std::uint32_t>(end));
    first = end;
  }
  return segments;
}

}  // namespace tacet::cuda
