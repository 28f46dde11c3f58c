// Measures ways to stop a GPU that works on a chain of kernels, and one long kernel:
// cuda_stop [--json] [--device N] [--kernels N] [--megabytes N] [--repeat N] [--stops N]
// [--seconds N]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "cuda_stop_device.hpp"
#include "cuda_stop_kernels.cuh"
#include "cuda_stop_report.hpp"

#if CUDA_VERSION < 12040
#error "Graphs with conditions need CUDA 12.4 or later."
#endif

namespace tacet::bench {

void launch_end(std::uint32_t* ended, const RunContext& run, CUstream stream) {
  end_of_run<<<1, 1, 0, stream>>>(ended, run);
  check(cudaGetLastError(), "a run was ended");
}

namespace {

struct Options {
  bool json = false;
  unsigned device = 0, kernels = 288, megabytes = 7, repeat = 31, stops = 200, seconds = 50;
};

/// What is launched: a kernel with its first argument, which stays where it is.
struct Launch {
  const void* kernel;
  unsigned blocks;
  void* argument;
};

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options), device_(static_cast<int>(options.device)) {
    check(cuCtxGetCurrent(&context_), "the device was opened");
  }
  int run();

 private:
  bool is_time_over() const { return microseconds(Clock::now() - begin_) > 1e6 * options_.seconds; }
  template <typename T>
  Array<T> numbers(std::size_t count);

  CUgraphNode add_kernel(CUgraph graph, CUgraphNode before, const Launch& launch, unsigned count,
                         bool early);
  CUgraph add_gate(CUgraph graph, CUgraphNode& last);
  Graph record(std::span<const Launch> launches, unsigned gate_every, bool early);
  void prepare(Way& way, std::span<const Launch> launches);

  void measure_host();
  void measure_times(std::span<Way> ways);
  void measure_stops(std::span<Way> ways);
  void check_result(Way& way, float* out, std::size_t count, std::vector<float>& expected);
  void measure_chain();
  void measure_long(unsigned side);

  Options options_;
  Device device_;
  CUcontext context_ = nullptr;
  Clock::time_point begin_ = Clock::now();
  std::mt19937_64 random_{1};
  unsigned chain_blocks_ = 0;
  std::vector<double> host_gaps_;  ///< of the host alone: the longest of each millisecond
  std::vector<Way> ways_;
};

template <typename T>
Array<T> Program::numbers(std::size_t count) {
  auto memory = allocate<T>(count);
  fill<<<1024, threads, 0, device_.stream()>>>(reinterpret_cast<float*>(memory.get()),
                                               count * sizeof(T) / sizeof(float));
  check(cudaGetLastError(), "memory was filled");
  return memory;
}

/// Adds a kernel of `count` threads a block behind `before`.
CUgraphNode Program::add_kernel(CUgraph graph, CUgraphNode before, const Launch& launch,
                                unsigned count, bool early) {
  cudaFunction_t function = nullptr;
  check(cudaGetFuncBySymbol(&function, launch.kernel), "a kernel was looked for");
  RunContext run = device_.context();
  void* parameters[] = {launch.argument, &run};
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = function;
  node.gridDimX = launch.blocks;
  node.blockDimX = count;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = parameters;
  const bool begins_early = before != nullptr && early;
  const bool has_edge = before != nullptr && !early;
  CUgraphNode added = nullptr;
  check(cuGraphAddKernelNode(&added, graph, has_edge ? &before : nullptr, has_edge ? 1 : 0, &node),
        "a kernel was recorded");
  if (!begins_early) return added;
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  check(cuGraphAddDependencies_v2(graph, &before, &added, &edge, 1), "a kernel was recorded");
  return added;
}

/// Adds an IF node behind `last`, which becomes it: the graph of what it is about.
CUgraph Program::add_gate(CUgraph graph, CUgraphNode& last) {
  CUgraphConditionalHandle condition = 0;
  check(cuGraphConditionalHandleCreate(&condition, graph, context_, 0, 0), "an IF node was made");
  const CUgraphNode set =
      add_kernel(graph, last, {reinterpret_cast<const void*>(gate), 1, &condition}, 1, false);
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.handle = condition;
  node.conditional.type = CU_GRAPH_COND_TYPE_IF;
  node.conditional.size = 1;
  node.conditional.ctx = context_;
  check(cuGraphAddNode_v2(&last, graph, &set, nullptr, 1, &node), "an IF node was made");
  return node.conditional.phGraph_out[0];
}

Graph Program::record(std::span<const Launch> launches, unsigned gate_every, bool early) {
  CUgraph graph = nullptr;
  check(cuGraphCreate(&graph, 0), "a graph was begun");
  const std::unique_ptr<std::remove_pointer_t<CUgraph>, decltype(&cuGraphDestroy)> owner(
      graph, cuGraphDestroy);
  CUgraph part = graph;
  CUgraphNode last = nullptr, last_gate = nullptr;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (gate_every != 0 && i % gate_every == 0) {
      part = add_gate(graph, last_gate);
      last = nullptr;
    }
    last = add_kernel(part, last, launches[i], threads, early);
  }
  CUgraphExec executable = nullptr;
  check(cuGraphInstantiateWithFlags(&executable, graph, 0), "a graph was made");
  return Graph(executable);
}

void Program::prepare(Way& way, std::span<const Launch> launches) try {
  const std::size_t every = way.segment_every != 0 ? way.segment_every : launches.size();
  for (std::size_t first = 0; first < launches.size(); first += every)
    way.graphs.push_back(record(launches.subspan(first, std::min(every, launches.size() - first)),
                                way.gate_every, way.early));
} catch (const std::runtime_error& error) {
  // Not every driver takes kernels that begin early into an IF node.
  if (way.gate_every == 0) throw;
  way.refused = error.what();
}

/// Runs `way`; refuses it if it leaves another result than `expected`, the first one.
void Program::check_result(Way& way, float* out, std::size_t count, std::vector<float>& expected) {
  if (!way.refused.empty()) return;
  check(cudaMemset(out, 0xff, count * sizeof(float)), "a result was cleared");
  check(cudaDeviceSynchronize(), "a result was cleared");
  device_.run(way.graphs);
  std::vector<float> result(count);
  check(cudaMemcpy(result.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost),
        "a result was copied");
  if (expected.empty()) expected = result;
  if (std::memcmp(result.data(), expected.data(), count * sizeof(float)) != 0)
    way.refused = "Its result is not that of the first way.";
}

void Program::measure_host() {
  for (int i = 0; i < 500; ++i) {
    const auto begin = Clock::now();
    auto last = begin;
    double longest = 0;
    while (microseconds(last - begin) < 1000) {
      spin_pause();
      const auto now = Clock::now();
      longest = std::max(longest, microseconds(now - last));
      last = now;
    }
    host_gaps_.push_back(longest);
  }
}

/// All ways in turns; the first round is dropped.
void Program::measure_times(std::span<Way> ways) {
  for (unsigned round = 0; round <= options_.repeat && !is_time_over(); ++round) {
    std::vector<double> times;
    for (const Way& way : ways)
      times.push_back(way.refused.empty() ? device_.run(way.graphs) : NAN);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (round == 0 || !ways[i].refused.empty()) continue;
      ways[i].times.push_back(times[i]);
      if (!std::isnan(times[ways[i].base]))
        ways[i].ratios.push_back(times[i] / times[ways[i].base]);
    }
  }
}

/// All ways in turns, each at moments within its own time.
void Program::measure_stops(std::span<Way> ways) {
  for (unsigned i = 0; i < options_.stops; ++i)
    for (Way& way : ways) {
      if (!way.polls || !way.refused.empty()) continue;
      const double length = quantile(way.times, 0.5);
      for (int tries = 0; tries < 3 && !is_time_over(); ++tries) {
        std::uniform_real_distribution<double> moment(0, length);
        const auto stop = device_.stop(way.graphs, moment(random_));
        if (!stop) {
          ++way.missed;
          continue;
        }
        way.stops.push_back(stop->microseconds);
        way.stopped += stop->is_known ? 1 : 0;
        break;
      }
    }
}

void Program::measure_chain() {
  const auto& properties = device_.properties();
  chain_blocks_ = 4 * static_cast<unsigned>(properties.multiProcessorCount);
  const auto count = static_cast<std::uint32_t>(options_.megabytes * 1024 * 1024 / sizeof(float4));
  const auto weights = numbers<float4>(std::size_t{count} * options_.kernels);
  const auto zeros = allocate<float>(chain_blocks_);
  check(cudaMemset(zeros.get(), 0, chain_blocks_ * sizeof(float)), "memory was cleared");
  const Array<float> sums[2] = {allocate<float>(chain_blocks_), allocate<float>(chain_blocks_)};
  std::vector<ReadArguments> arguments(options_.kernels);
  std::vector<Launch> polling, silent;
  for (unsigned i = 0; i < options_.kernels; ++i) {
    arguments[i] = {weights.get() + std::size_t{i} * count,
                    i == 0 ? zeros.get() : sums[(i - 1) % 2].get(), sums[i % 2].get(), count};
    polling.push_back(
        {reinterpret_cast<const void*>(read_weights<true>), chain_blocks_, &arguments[i]});
    silent.push_back(
        {reinterpret_cast<const void*>(read_weights<false>), chain_blocks_, &arguments[i]});
  }
  for (const bool early : {false, true}) {
    if (early && properties.major < 9) break;
    const std::size_t base = ways_.size();
    const auto add = [&](std::string name, bool polls, unsigned gate_every,
                         unsigned segment_every) {
      Way& way = ways_.emplace_back();
      way.name = (early ? "early, " : "") + std::move(name);
      way.polls = polls;
      way.early = early;
      way.gate_every = gate_every;
      way.segment_every = segment_every;
      way.base = base;
      prepare(way, polls ? polling : silent);
    };
    add("one graph", true, 0, 0);
    add("one graph without poll", false, 0, 0);
    for (const unsigned every : {8, 24, 36, 72})
      add("IF every " + std::to_string(every), true, every, 0);
    for (const unsigned every : {8, 24, 36})
      add("segments of " + std::to_string(every), true, 0, every);
  }
  std::vector<float> expected;
  const auto check_all = [&] {
    for (Way& way : ways_)
      check_result(way, sums[(options_.kernels - 1) % 2].get(), chain_blocks_, expected);
  };
  check_all();
  measure_times(ways_);
  measure_stops(ways_);
  check_all();
  for (Way& way : ways_) way.graphs.clear();
}

/// A kernel of side * side / 4096 blocks.
void Program::measure_long(unsigned side) {
  constexpr unsigned depth = 1024;
  constexpr double short_us = 30e3, long_us = 3e6, last_moment_us = 50e3;
  const auto left = numbers<float4>(std::size_t{side} * depth / 4);
  const auto right = numbers<float4>(std::size_t{side} * depth / 4);
  const auto out = allocate<float>(std::size_t{side} * side);
  const unsigned blocks = side / 64 * (side / 64);
  ProductArguments arguments{left.get(), right.get(), out.get(), side, depth, 1024};
  const Launch polling{reinterpret_cast<const void*>(long_product<true>), blocks, &arguments};
  const Launch silent{reinterpret_cast<const void*>(long_product<false>), blocks, &arguments};
  // As many tiles as take so long, by what was seen so far.
  const auto stretch = [&](double microseconds) {
    std::vector<Graph> graphs;
    graphs.push_back(record({&polling, 1}, 0, false));
    device_.run(graphs);
    const double tiles = arguments.tiles * microseconds / device_.run(graphs);
    arguments.tiles = static_cast<std::uint32_t>(std::clamp(tiles, 1.0, 1e9));
  };
  stretch(short_us);
  stretch(short_us);
  std::vector<Way> pair(2);
  const std::string name = "a kernel of " + std::to_string(blocks) + " blocks";
  pair[0].name = name + " without poll";
  pair[0].polls = false;
  pair[1].name = name;
  prepare(pair[0], {&silent, 1});
  prepare(pair[1], {&polling, 1});
  std::vector<float> expected;
  for (Way& way : pair) check_result(way, out.get(), std::size_t{side} * side, expected);
  measure_times(pair);
  stretch(long_us);
  pair[1].graphs.clear();
  prepare(pair[1], {&polling, 1});
  for (unsigned i = 0; i < options_.stops && !is_time_over(); ++i) {
    std::uniform_real_distribution<double> moment(0, last_moment_us);
    const auto stop = device_.stop(pair[1].graphs, moment(random_));
    if (!stop || stop->microseconds > long_us / 4) {
      pair[1].refused = "It did not see a stop.";
      break;
    }
    pair[1].stopped += stop->is_known ? 1 : 0;
    pair[1].stops.push_back(stop->microseconds);
  }
  for (Way& way : pair) {
    way.base += ways_.size();
    way.graphs.clear();
  }
  std::move(pair.begin(), pair.end(), std::back_inserter(ways_));
}

int Program::run() {
  measure_host();
  measure_chain();
  for (const unsigned side : {1024U, 4096U}) measure_long(side);
  const Report report{.device = device_.properties().name,
                      .kernels = options_.kernels,
                      .megabytes = options_.megabytes,
                      .blocks = chain_blocks_,
                      .seconds = microseconds(Clock::now() - begin_) / 1e6,
                      .host_gaps = host_gaps_,
                      .ways = ways_};
  options_.json ? print_json(report) : print_table(report);
  const bool is_complete =
      std::all_of(ways_.begin(), ways_.end(), [](const Way& way) { return way.refused.empty(); });
  if (!is_complete) std::fprintf(stderr, "cuda_stop: some ways were not measured; see above.\n");
  return is_complete ? 0 : 1;
}

/// Throws a sentence if an argument is not right.
Options read_options(std::span<char*> arguments) {
  Options options;
  const std::pair<std::string_view, unsigned*> numbers[] = {
      {"--device", &options.device},       {"--kernels", &options.kernels},
      {"--megabytes", &options.megabytes}, {"--repeat", &options.repeat},
      {"--stops", &options.stops},         {"--seconds", &options.seconds}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    const auto* number = std::find_if(std::begin(numbers), std::end(numbers),
                                      [&](const auto& known) { return known.first == name; });
    char* end = nullptr;
    const unsigned long value =
        i + 1 < arguments.size() ? std::strtoul(arguments[i + 1], &end, 10) : 0;
    if (number == std::end(numbers) || end == nullptr || end == arguments[i + 1] || *end != 0 ||
        value > 10'000)
      throw std::runtime_error(
          "usage: cuda_stop [--json] [--device N] [--kernels N] [--megabytes N] "
          "[--repeat N] [--stops N] [--seconds N]");
    *number->second = static_cast<unsigned>(value);
    ++i;
  }
  if (options.kernels == 0 || options.repeat == 0 || options.megabytes == 0 ||
      options.megabytes > 1024)
    throw std::runtime_error("--kernels and --repeat are 1 to 10000, --megabytes 1 to 1024.");
  return options;
}

}  // namespace

}  // namespace tacet::bench

int main(int count, char** arguments) {
  using namespace tacet::bench;
  try {
    return Program(read_options({arguments + 1, static_cast<std::size_t>(count - 1)})).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_stop: %s\n", error.what());
    return 1;
  }
}
