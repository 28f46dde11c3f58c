#include "backends/conductor.hpp"

#include <algorithm>
#include <numeric>

namespace tacet {

SplitTape::SplitTape(std::unique_ptr<Tape> lower, std::unique_ptr<Tape> upper, std::uint32_t rows,
                     std::size_t width)
    : Tape(*lower),
      lower_(std::move(lower)),
      upper_(std::move(upper)),
      all_rows_(rows),
      stream_(rows * width) {
  std::iota(all_rows_.begin(), all_rows_.end(), 0);
}

struct Conductor::Ended {
  RunStatus status;
  std::uint32_t steps = 0;  ///< that were finished
  std::optional<Error> error = {};
};

namespace {

/// The longest work between two polls of either; 0 if one of them states none.
std::chrono::nanoseconds bound_of(const DeviceInfo& a, const DeviceInfo& b) noexcept {
  return a.stop_bound.count() == 0 || b.stop_bound.count() == 0
             ? std::chrono::nanoseconds{0}
             : std::max(a.stop_bound, b.stop_bound);
}

bool is_stopped(const RunState& run) noexcept {
  return run.stop_word().load(std::memory_order_relaxed) != 0;
}

}  // namespace

Conductor::Conductor(Device& lower, Device& upper)
    : lower_(lower),
      upper_(upper),
      name_(lower.info().name + " and " + upper.info().name),
      stop_bound_(bound_of(lower.info(), upper.info())),
      queue_(*this),
      thread_([this] { work(); }) {}

Conductor::~Conductor() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Conductor::start(RunState& run) noexcept {
  {
    const std::lock_guard lock(mutex_);
    next_ = current_ = &run;
  }
  changed_.notify_all();
}

void Conductor::raised(RunState& run) noexcept {
  const std::lock_guard lock(mutex_);
  if (current_ == &run && part_ != nullptr) part_->stop();
}

void Conductor::work() noexcept {
  for (;;) {
    RunState* run = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return quit_ || next_ != nullptr; });
      if (next_ == nullptr) return;
      run = std::exchange(next_, nullptr);
    }
    const std::uint32_t steps = run->request().tape->step_count();
    Ended ended{RunStatus::failed};
    try {
      ended = execute(*run);
    } catch (const std::bad_alloc&) {
      ended.error = Error::no_memory();
    }
    {
      const std::lock_guard lock(mutex_);
      current_ = nullptr;
    }
    queue_.finish(*run, ended.status, ended.steps, steps, std::move(ended.error));
  }
}

Conductor::Ended Conductor::execute(RunState& run) {
  const auto& tape = static_cast<const SplitTape&>(*run.request().tape);
  const RunArgs& whole = run.request().args;
  RunArgs args = whole;
  args.output_rows = std::span(tape.all_rows_).first(whole.rows);
  args.logits = tape.stream_.data();
  Ended lower = execute_part(run, lower_, *tape.lower_, args);
  if (lower.status != RunStatus::done) return lower;

  args = whole;
  args.stream = tape.stream_.data();
  upper_sequences_.assign(whole.kv.sequences.begin(), whole.kv.sequences.end());
  for (KvSequence& sequence : upper_sequences_) sequence.pages = sequence.upper_pages;
  args.kv.sequences = upper_sequences_;
  Ended upper = execute_part(run, upper_, *tape.upper_, args);
  upper.steps += lower.steps;
  return upper;
}

Conductor::Ended Conductor::execute_part(RunState& run, Device& device, const Tape& tape,
                                         const RunArgs& args) {
  RunQueue& queue = device.queue();
  RunHandle part;
  {
    // Under the lock either this sees the word, or `raised` sees the part.
    const std::lock_guard lock(mutex_);
    if (is_stopped(run)) return {RunStatus::stopped};
    auto submitted = queue.submit({.tape = &tape, .args = args, .token = {}});
    if (!submitted) return {RunStatus::failed, 0, std::move(submitted.error())};
    part = RunHandle(queue, **submitted);
    part_ = &part;
  }
  const RunResult& result = part.wait();
  {
    const std::lock_guard lock(mutex_);
    part_ = nullptr;
  }
  return {result.status, result.steps_done, part.take_error()};
}

}  // namespace tacet
