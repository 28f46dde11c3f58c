#include "backends/cuda/executor.hpp"

#include <algorithm>
#include <system_error>

#include "base/spin.hpp"

namespace tacet::cuda {

namespace {

/// Segments in flight at most.
constexpr std::size_t most_segments = 2;

/// Places parts of a RunBlock's memory one behind the other.
class Parts {
 public:
  template <typename T>
  std::size_t add(std::size_t count) noexcept {
    const std::size_t at = bytes_;
    bytes_ = (bytes_ + count * sizeof(T) + 15) / 16 * 16;
    return at;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

struct CudaExecutor::Ended {
  RunStatus status;
  std::uint32_t steps = 0;
  std::optional<Error> error = {};
};

bool CudaExecutor::store(CUstream stream, const void* to, std::uint32_t value) const noexcept {
  return gpu_.driver->stream_write_value(stream, pointer(to), value,
                                         CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
}

Result<void> CudaExecutor::open(RunQueue& queue, LoadedKernels& kernels) {
  queue_ = &queue;
  const Driver& driver = *gpu_.driver;
  int least = 0, most = 0;
  driver.stream_priority_range(&least, &most);
  auto status = driver.stream_create(&stream_, CU_STREAM_NON_BLOCKING, least);
  if (status == CUDA_SUCCESS) status = driver.stream_create(&side_, CU_STREAM_NON_BLOCKING, most);
  if (status != CUDA_SUCCESS) return driver.failure(status, "streams were made");
  fixed_ = DeviceMemory::on_device(gpu_, fixed_bytes);
  words_ = DeviceMemory::on_host(gpu_, 64);
  if (!fixed_ || !words_)
    return fail(Code::out_of_memory, "{} has no memory for runs; end other programs that use it.",
                name_);
  std::memset(words_.data(), 0, words_.size());
  status = driver.set_bytes(pointer(fixed_.data()), 0, fixed_bytes, side_);
  if (status != CUDA_SUCCESS) return driver.failure(status, "memory was cleared");
  if (!store(side_, fixed_.data() + stop_at, 0) || driver.stream_synchronize(side_) != CUDA_SUCCESS)
    return fail(Code::unsupported,
                "{} can not be told to stop while it works (its driver refuses "
                "cuStreamWriteValue32); update the driver.",
                name_);
  auto end = kernels.find({"end", "end_of_run"}, 0);
  if (!end) return fail(std::move(end));
  end_ = *end;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    return fail(Code::out_of_memory,
                "The system refuses a thread for {}; free some memory, or raise the limits "
                "(ulimit -v, ulimit -u).",
                name_);
  }
  return {};
}

void CudaExecutor::close() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

CudaExecutor::~CudaExecutor() {
  close();
  const auto scope = gpu_.scope();
  for (const CUstream stream : {stream_, side_})
    if (stream != nullptr) gpu_.driver->stream_destroy(stream);
}

void CudaExecutor::start(RunState& run) noexcept {
  {
    const std::lock_guard lock(mutex_);
    next_ = current_ = &run;
    if (++epoch_ == 0) ++epoch_;
  }
  changed_.notify_all();
}

void CudaExecutor::raised(RunState& run) noexcept {
  const std::lock_guard lock(mutex_);
  if (current_ != &run || lost_) return;
  const auto scope = gpu_.scope();
  store(side_, fixed_.data() + stop_at, epoch_);
}

void CudaExecutor::work() noexcept {
  const auto scope = gpu_.scope();
  for (;;) {
    RunState* run = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return quit_ || next_ != nullptr; });
      if (next_ == nullptr) return;
      run = std::exchange(next_, nullptr);
    }
    Ended ended = execute_or_fail(*run);
    {
      const std::lock_guard lock(mutex_);
      current_ = nullptr;
      if (ended.error && ended.error->code() == Code::device_lost) lost_ = true;
    }
    const auto& tape = static_cast<const CudaTape&>(*run->request().tape);
    queue_->finish(*run, ended.status, ended.steps, tape.steps, std::move(ended.error));
  }
}

/// Executes `run`, even where there is no memory for an error's sentence.
CudaExecutor::Ended CudaExecutor::execute_or_fail(RunState& run) noexcept {
  Ended ended{RunStatus::failed};
  try {
    ended = execute(run);
  } catch (const std::bad_alloc&) {
    ended.error = Error::no_memory();
  }
  // What was submitted still uses the memory of the run.
  if (ended.status == RunStatus::failed) gpu_.driver->stream_synchronize(stream_);
  return ended;
}

/// Brings what changes from run to run to the device.
Result<void> CudaExecutor::upload(const RunArgs& args, std::uint32_t epoch) {
  std::size_t page_count = 0, position_count = 0;
  for (const KvSequence& sequence : args.kv.sequences) {
    page_count += sequence.pages.size();
    position_count += sequence.positions.size();
  }
  Parts parts;
  const std::size_t block_at = parts.add<RunBlock>(1);
  const std::size_t tokens = parts.add<std::int32_t>(args.tokens.size());
  const std::size_t positions = parts.add<std::int32_t>(args.positions.size());
  const std::size_t output_rows = parts.add<std::int32_t>(args.output_rows.size());
  const std::size_t cell_positions = parts.add<std::int32_t>(position_count);
  const std::size_t sequences = parts.add<SequenceArgs>(args.kv.sequences.size());
  const std::size_t pages = parts.add<std::byte*>(page_count);
  const std::size_t layers = parts.add<LayerArgs>(args.kv.layers.size());
  const auto make_room = [&](DeviceMemory& memory, auto allocate) {
    if (memory.size() >= parts.bytes()) return true;
    memory = {};
    memory = allocate(gpu_, std::max<std::size_t>(2 * parts.bytes(), 64 * 1024));
    return static_cast<bool>(memory);
  };
  if (!make_room(staging_, DeviceMemory::on_host) || !make_room(variable_, DeviceMemory::on_device))
    return fail(Code::out_of_memory, "{} has no memory for the arguments of a run.", name_);
  std::byte* host = staging_.data();
  std::byte* device = variable_.data();
  const auto put = [&](std::size_t at, const auto& values) {
    if (!values.empty()) std::memcpy(host + at, values.data(), values.size_bytes());
  };
  put(tokens, args.tokens);
  put(positions, args.positions);
  put(output_rows, args.output_rows);
  auto* sequence_args = reinterpret_cast<SequenceArgs*>(host + sequences);
  std::size_t page = 0, position = 0;
  for (const KvSequence& sequence : args.kv.sequences) {
    put(pages + page * sizeof(std::byte*), sequence.pages);
    put(cell_positions + position * sizeof(std::int32_t), sequence.positions);
    *sequence_args++ = {.begin = sequence.begin,
                        .end = sequence.end,
                        .past = sequence.past,
                        .first_page = static_cast<std::uint32_t>(page),
                        .page_count = static_cast<std::uint32_t>(sequence.pages.size()),
                        .first_position = sequence.positions.empty()
                                              ? SequenceArgs::none
                                              : static_cast<std::uint32_t>(position)};
    page += sequence.pages.size();
    position += sequence.positions.size();
  }
  auto* layer_args = reinterpret_cast<LayerArgs*>(host + layers);
  for (const KvLayer& layer : args.kv.layers) *layer_args++ = {layer.k_offset, layer.v_offset};
  const RunBlock block{
      .epoch = epoch,
      .rows = args.rows,
      .outputs = static_cast<std::uint32_t>(args.output_rows.size()),
      .sequence_count = static_cast<std::uint32_t>(args.kv.sequences.size()),
      .page_tokens = args.kv.page_tokens,
      .page_inverse = ~std::uint32_t{0} / std::max(1U, args.kv.page_tokens),
      .tokens = reinterpret_cast<const std::int32_t*>(device + tokens),
      .positions = reinterpret_cast<const std::int32_t*>(device + positions),
      .output_rows = reinterpret_cast<const std::int32_t*>(device + output_rows),
      .cell_positions = reinterpret_cast<const std::int32_t*>(device + cell_positions),
      .sequences = reinterpret_cast<const SequenceArgs*>(device + sequences),
      .pages = reinterpret_cast<std::byte* const*>(device + pages),
      .layers = reinterpret_cast<const LayerArgs*>(device + layers)};
  std::memcpy(host + block_at, &block, sizeof block);
  const Driver& driver = *gpu_.driver;
  auto status = driver.copy_to_device(pointer(device), host, parts.bytes(), stream_);
  if (status == CUDA_SUCCESS)
    status = driver.copy_to_device(pointer(fixed_.data()), host + block_at, sizeof block, stream_);
  if (status == CUDA_SUCCESS && cut_short_)
    status =
        driver.set_bytes(pointer(arrivals()), 0, arrival_words * sizeof(std::uint32_t), stream_);
  if (status != CUDA_SUCCESS) return driver.failure(status, "the arguments of a run were copied");
  cut_short_ = true;  // until it was not
  return {};
}

/// Brings what another device has computed, in pieces, so that a stop need not wait for all.
Result<void> CudaExecutor::bring_stream(const CudaTape& tape, const RunState& run) {
  constexpr std::size_t piece = 256 * 1024;
  const RunArgs& args = run.request().args;
  const auto* stream = reinterpret_cast<const std::byte*>(args.stream);
  const std::size_t bytes = args.rows * tape.stream_width * sizeof(float);
  for (std::size_t at = 0; at < bytes; at += piece) {
    if (run.stop_word().load(std::memory_order_relaxed) != 0) return {};
    const CUresult status = gpu_.driver->copy_to_device(pointer(tape.stream + at), stream + at,
                                                        std::min(piece, bytes - at), stream_);
    if (status != CUDA_SUCCESS)
      return gpu_.driver->failure(status, "the values of another device were copied");
  }
  return {};
}

/// Has the device say when it has come here.
Result<void> CudaExecutor::mark_progress() {
  const CUresult status = gpu_.driver->stream_write_value(
      stream_, pointer(words_.data()), progress_ + 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (status != CUDA_SUCCESS) return gpu_.driver->failure(status, "a run was watched");
  ++progress_;
  return {};
}

/// Waits until the device has come to a number of `progress_`.
Result<void> CudaExecutor::wait_for(std::uint32_t progress) {
  const auto* word = reinterpret_cast<volatile std::uint32_t*>(words_.data());
  for (std::uint32_t spins = 1;; ++spins) {
    if (static_cast<std::int32_t>(*word - progress) >= 0) return {};
    spin_pause();
    if (spins % 8192 != 0) continue;
    const CUresult status = gpu_.driver->stream_query(stream_);
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY)
      return gpu_.driver->failure(status, "a run was computed");
  }
}

/// Submits the end of a run whose segments all were.
Result<void> CudaExecutor::end_run(const CudaTape& tape, std::size_t floats) {
  const Driver& driver = *gpu_.driver;
  auto* ended = reinterpret_cast<std::uint32_t*>(words_.data()) + 1;
  RunContext run = context();
  void* parameters[] = {&ended, &run};
  auto status = driver.launch_kernel(reinterpret_cast<CUfunction>(end_), 1, 1, 1, 1, 1, 1, 0,
                                     stream_, parameters, nullptr);
  if (status == CUDA_SUCCESS && floats != 0) {
    const std::size_t bytes = floats * sizeof(float);
    if (results_.size() < bytes) {
      results_ = {};
      results_ = DeviceMemory::on_host(gpu_, bytes);
      if (!results_)
        return fail(Code::out_of_memory, "The host has no pinned memory for logits; free some.");
    }
    status = driver.copy_to_host(results_.data(), pointer(tape.logits), bytes, stream_);
  }
  if (status != CUDA_SUCCESS) return driver.failure(status, "a run was ended");
  return mark_progress();
}

CudaExecutor::Ended CudaExecutor::execute(RunState& run) {
  const auto& tape = static_cast<const CudaTape&>(*run.request().tape);
  const RunArgs& args = run.request().args;
  if (lost_)
    return {
        RunStatus::failed, 0,
        Error(Code::device_lost,
              fmt::format("{} was lost; start the process again, or use another device.", name_))};
  const auto failed = [](auto&& result, std::uint32_t steps) -> Ended {
    return {RunStatus::failed, steps, std::move(result.error())};
  };
  const auto is_stopped = [&] { return run.stop_word().load(std::memory_order_relaxed) != 0; };
  const std::uint32_t epoch = epoch_;
  if (is_stopped()) return {RunStatus::stopped};
  if (auto uploaded = upload(args, epoch); !uploaded) return failed(uploaded, 0);
  if (auto brought = bring_stream(tape, run); !brought) return failed(brought, 0);
  const std::uint32_t first = progress_;
  const auto passed = [&](std::size_t segments) {
    return segments == 0 ? 0 : tape.segments[segments - 1].end();
  };
  std::size_t submitted = 0;
  for (; submitted < tape.segments.size(); ++submitted) {
    if (submitted >= most_segments) {
      auto there = wait_for(first + static_cast<std::uint32_t>(submitted - most_segments) + 1);
      if (!there) return failed(there, passed(submitted - most_segments));
    }
    if (at_gate_) at_gate_(submitted);
    if (is_stopped()) break;
    const CUresult status = gpu_.driver->graph_launch(tape.segments[submitted].graph(), stream_);
    if (status != CUDA_SUCCESS)
      return failed(Result<void>(gpu_.driver->failure(status, "a graph was started")),
                    passed(submitted));
    if (auto marked = mark_progress(); !marked) return failed(marked, passed(submitted));
  }
  const bool whole = submitted == tape.segments.size();
  const std::size_t floats = args.output_rows.size() * tape.logits_width;
  if (whole)
    if (auto ended = end_run(tape, floats); !ended) return failed(ended, passed(submitted));
  auto idle = wait_for(progress_);
  if (!idle) return failed(idle, 0);
  const bool done = whole && reinterpret_cast<volatile std::uint32_t*>(words_.data())[1] == epoch;
  // Those in flight when the stop was seen may have been cut short.
  if (!done) return {RunStatus::stopped, passed(submitted - std::min(submitted, most_segments))};
  cut_short_ = false;
  if (floats != 0) std::memcpy(args.logits, results_.data(), floats * sizeof(float));
  return {RunStatus::done, tape.steps};
}

}  // namespace tacet::cuda
