#include "backends/fake/fake_device.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "base/aligned_bytes.hpp"
#include "ops/ops.hpp"

namespace tacet {

namespace {

/// A node as the fake device keeps it: the plan that it came from may be gone.
struct FakeStep {
  const Op* op;
  Attributes attributes;
  std::vector<ValueType> input_types;
  std::vector<ValueType> output_types;
  std::vector<Ref> inputs;
  std::vector<Ref> outputs;
  bool selected;
};

struct FakeTape final : Tape {
  using Tape::Tape;
  std::uint32_t step_count() const noexcept override {
    return static_cast<std::uint32_t>(steps.size());
  }
  std::vector<FakeStep> steps;
  mutable std::vector<std::byte> arena;
};

/// Where the host would find what is at an address of the device, and the other way round:
/// addresses are moved, so that the host can not use them by mistake.
template <typename T>
T* moved(T* address) noexcept {
  if (address == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) ^ std::uintptr_t{1} << 62);
}

class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(std::size_t bytes, std::atomic<std::uint64_t>& used)
      : bytes_(bytes), size_(bytes), used_(used) {
    std::memset(bytes_.data(), 0, bytes);
    used_ += bytes;
  }
  ~FakeBuffer() override { used_ -= size_; }
  std::byte* data() const noexcept override { return moved(bytes_.data()); }
  std::size_t size() const noexcept override { return size_; }

 private:
  AlignedBytes bytes_;
  std::size_t size_;
  std::atomic<std::uint64_t>& used_;
};

const void* input_data(const Ref& ref, const FakeTape& tape, const RunArgs& args) noexcept {
  switch (ref.space) {
    case Ref::Space::weight:
      return moved(ref.data);
    case Ref::Space::arena:
      return tape.arena.data() + ref.offset;
    case Ref::Space::tokens:
      return args.tokens.data();
    case Ref::Space::positions:
      return args.positions.data();
    case Ref::Space::output_rows:
      return args.output_rows.data();
    case Ref::Space::stream:
      return args.stream;
    case Ref::Space::logits:
      return args.logits;
    default:
      return nullptr;
  }
}

/// KV memory as the host sees it.
class HostKv {
 public:
  explicit HostKv(const KvView& kv)
      : sequences_(kv.sequences.begin(), kv.sequences.end()), kv_(kv) {
    for (KvSequence& sequence : sequences_) {
      auto& pages = pages_.emplace_back();
      for (std::byte* page : sequence.pages) pages.push_back(moved(page));
      sequence.pages = pages;
    }
    kv_.sequences = sequences_;
  }
  HostKv(const HostKv&) = delete;
  HostKv& operator=(const HostKv&) = delete;
  const KvView& view() const noexcept { return kv_; }

 private:
  std::vector<KvSequence> sequences_;
  std::deque<std::vector<std::byte*>> pages_;
  KvView kv_;
};

void compute(const FakeStep& step, const FakeTape& tape, const RunArgs& args, const KvView& kv) {
  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    inputs.push_back(
        {step.input_types[i], input_data(step.inputs[i], tape, args), step.inputs[i].layer});
  std::vector<std::span<float>> outputs;
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i].space == Ref::Space::state) continue;
    auto* data = step.outputs[i].space == Ref::Space::logits
                     ? args.logits
                     : reinterpret_cast<float*>(tape.arena.data() + step.outputs[i].offset);
    const std::uint32_t rows =
        step.selected ? static_cast<std::uint32_t>(args.output_rows.size()) : args.rows;
    outputs.emplace_back(data, static_cast<std::size_t>(rows) *
                                   static_cast<std::size_t>(step.output_types[i].shape.width()));
  }
  const std::uint32_t rows =
      step.selected ? static_cast<std::uint32_t>(args.output_rows.size()) : args.rows;
  if (rows != 0) step.op->reference({step.attributes, inputs, outputs, rows, &kv, args.rows});
}

class FakeDeviceImpl final : public FakeDevice, public Executor {
 public:
  explicit FakeDeviceImpl(FakeOptions options) : options_(std::move(options)), queue_(*this) {
    info_ = {.name = options_.name,
             .description = "a device for tests",
             .memory_total = options_.memory,
             .stop_bound = options_.stop_bound,
             .reads_host_memory = false};
    for (const Op* op : ops::all())
      if (!options_.lacks.contains(op->name)) kernels_.push_back({.op = op, .name = op->name});
    thread_ = std::thread([this] { loop(); });
  }

  ~FakeDeviceImpl() override {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  std::uint64_t memory_free() const override { return options_.memory - used_; }
  const Kernel* find(const NodeView& node) const noexcept override {
    for (const Kernel& kernel : kernels_)
      if (kernel.op == node.op) return &kernel;
    return nullptr;
  }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes, std::string_view purpose,
                                           const StopToken&) override {
    if (bytes > memory_free())
      return fail(Code::out_of_memory,
                  "{} has no {} bytes for {} ({} are free); use a smaller context or model.",
                  options_.name, bytes, purpose, memory_free());
    return std::make_unique<FakeBuffer>(bytes, used_);
  }
  Result<std::unique_ptr<Tape>> lower(const Part& part) override {
    auto tape = std::make_unique<FakeTape>(part);
    tape->arena.resize(part.arena_bytes);
    for (const PlacedNode& node : part.nodes)
      tape->steps.push_back({.op = node.view.op,
                             .attributes = *node.view.attributes,
                             .input_types = {node.view.inputs.begin(), node.view.inputs.end()},
                             .output_types = {node.view.outputs.begin(), node.view.outputs.end()},
                             .inputs = {node.inputs.begin(), node.inputs.end()},
                             .outputs = {node.outputs.begin(), node.outputs.end()},
                             .selected = node.selected});
    return tape;
  }
  Result<std::unique_ptr<Buffer>> arrange(const ValueType& value, const std::byte* rows, Layout,
                                          const StopToken& stop) override {
    const std::size_t bytes = static_cast<std::size_t>(value.shape.rows()) *
                              row_bytes(value.dtype, static_cast<std::size_t>(value.shape.width()));
    auto buffer = allocate(bytes, "weights", stop);
    if (!buffer) return buffer;
    if (auto written = write((*buffer)->data(), {rows, bytes}); !written)
      return fail(std::move(written));
    return buffer;
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (lost_) return lost();
    std::memcpy(moved(to), moved(from), bytes);
    return {};
  }
  Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    if (lost_) return lost();
    std::memcpy(to.data(), moved(from), to.size());
    return {};
  }
  Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    if (lost_) return lost();
    std::memcpy(moved(to), from.data(), from.size());
    return {};
  }
  RunQueue& queue() noexcept override { return queue_; }

  bool reads_host_signals() const noexcept override { return false; }
  std::string_view name() const noexcept override { return options_.name; }
  std::chrono::nanoseconds stop_bound() const noexcept override { return options_.stop_bound; }
  void start(RunState& run) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      run_ = &run;
    }
    changed_.notify_all();
  }
  void raised(RunState&) noexcept override {
    { const std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

  void fail_at(std::uint32_t step) noexcept override { fail_at_ = step; }
  void lose_at(std::uint32_t step) noexcept override { lose_at_ = step; }
  void hold_at(std::uint32_t step) noexcept override {
    const std::lock_guard lock(mutex_);
    hold_at_ = step;
    released_ = false;
  }
  void complete_late(bool late) noexcept override {
    const std::lock_guard lock(mutex_);
    late_ = late;
    released_ = false;
  }
  void let_go() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
    }
    changed_.notify_all();
  }
  void wait_until_held() noexcept override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_; });
  }
  std::uint64_t steps_executed() const noexcept override { return executed_; }

 private:
  tl::unexpected<Error> lost() const {
    return fail(Code::device_lost, "{} was lost; start the process again, or use another device.",
                options_.name);
  }

  void hold(const RunState* stoppable) {
    std::unique_lock lock(mutex_);
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return released_ ||
             (stoppable != nullptr && stoppable->stop_word().load(std::memory_order_relaxed) != 0);
    });
    held_ = false;
    changed_.notify_all();
  }

  void loop() {
    for (;;) {
      RunState* run = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return quit_ || run_ != nullptr; });
        if (run_ == nullptr) return;
        run = std::exchange(run_, nullptr);
      }
      execute(*run);
    }
  }

  void execute(RunState& run) {
    const auto& tape = static_cast<const FakeTape&>(*run.request().tape);
    const auto steps = static_cast<std::uint32_t>(tape.steps.size());
    const auto stop = [&] { return run.stop_word().load(std::memory_order_relaxed) != 0; };
    const HostKv kv(run.request().args.kv);
    const std::uint32_t fail_step = fail_at_.exchange(never);
    const std::uint32_t lose_step = lose_at_.exchange(never);
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (step == hold_step()) hold(&run);
      if (lost_ || step == lose_step) {
        lost_ = true;
        return queue_.finish(run, RunStatus::failed, step, steps, lost().value());
      }
      if (stop()) return queue_.finish(run, RunStatus::stopped, step, steps);
      if (step == fail_step)
        return queue_.finish(
            run, RunStatus::failed, step, steps,
            Error(Code::internal, fmt::format("{} failed at step {}.", options_.name, step)));
      compute(tape.steps[step], tape, run.request().args, kv.view());
      ++executed_;
    }
    if (late()) hold(nullptr);
    queue_.finish(run, RunStatus::done, steps, steps);
  }

  std::uint32_t hold_step() {
    const std::lock_guard lock(mutex_);
    return hold_at_;
  }
  bool late() {
    const std::lock_guard lock(mutex_);
    return late_;
  }

  FakeOptions options_;
  RunQueue queue_;
  DeviceInfo info_;
  std::vector<Kernel> kernels_;
  std::atomic<std::uint64_t> used_ = 0;
  std::atomic<std::uint64_t> executed_ = 0;
  std::atomic<std::uint32_t> fail_at_ = never;
  std::atomic<std::uint32_t> lose_at_ = never;
  std::atomic<bool> lost_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  RunState* run_ = nullptr;
  std::uint32_t hold_at_ = never;
  bool released_ = false;
  bool held_ = false;
  bool late_ = false;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<FakeDevice>> make_fake_device(const FakeOptions& options) {
  return std::make_unique<FakeDeviceImpl>(options);
}

}  // namespace tacet
