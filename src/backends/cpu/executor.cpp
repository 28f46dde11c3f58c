#include "backends/cpu/executor.hpp"

#include <algorithm>

#include "base/float_mode.hpp"
#include "base/spin.hpp"

namespace tacet::cpu {

namespace {

/// How long a worker looks for the next run before it sleeps, so that the steps of a decode follow
/// one another without waking threads.
constexpr std::chrono::microseconds look_before_sleep{50};
/// After so many looks at a chunk that another thread holds, that thread is probably not running:
/// give way to it.
constexpr int spins_before_yield = 2000;
/// Kernels cut their work so that no chunk is estimated at more.
constexpr auto most_chunk_seconds = static_cast<float>(chunk_seconds / 2);
/// After so many a thread that waits looks at bytes and deadlines.
constexpr int spins_before_look = 64;

}  // namespace

CpuTape::CpuTape(const Part& part, TapeBuilder builder, std::shared_ptr<AlignedBytes> arena)
    : Tape(part),
      steps_(builder.take_steps()),
      arguments_(builder.take_arguments()),
      names_(builder.take_names()),
      arena_(std::move(arena)),
      first_chunk_(steps_.size() + 1),
      chunk_seconds_(steps_.size()) {}

CpuExecutor::CpuExecutor(unsigned threads, std::span<std::byte* const> scratch)
    : threads_(threads), scratch_(scratch.begin(), scratch.end()) {
  const unsigned workers = std::max(1U, threads - 1);
  workers_.reserve(workers);
  try {
    for (unsigned i = 0; i < workers; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    throw;
  }
}

CpuExecutor::~CpuExecutor() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    started_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void CpuExecutor::start(RunState& run) noexcept {
  std::uint64_t chunks = 0;
  {
    const std::lock_guard lock(mutex_);
    run_ = &run;
    tape_ = static_cast<const CpuTape*>(run.request().tape);
    for (std::size_t i = 0; i < tape_->steps_.size(); ++i) {
      const TapeStep& step = tape_->steps_[i];
      const std::uint32_t count = step.count(step.arguments, run.request().args);
      tape_->first_chunk_[i] = chunks;
      tape_->chunk_seconds_[i] =
          std::min(step.seconds / static_cast<float>(std::max(1U, count)), most_chunk_seconds);
      chunks += count;
    }
    tape_->first_chunk_.back() = chunks_ = chunks;
    next_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    open_ = chunks != 0;
    started_.fetch_add(1, std::memory_order_release);
  }
  // By now another run may be the current one.
  if (chunks == 0)
    end_run();
  else
    wake_.notify_all();
}

void CpuExecutor::work(unsigned index) noexcept {
  std::uint64_t seen = 0;
  for (;;) {
    // A lone thread leaves the core to the waiter; otherwise the next run is probably near.
    const Clock::time_point sleep_at =
        Clock::now() + (threads_ > 1 ? look_before_sleep : look_before_sleep * 0);
    while (started_.load(std::memory_order_acquire) == seen && Clock::now() < sleep_at)
      for (int i = 0; i < 16; ++i) spin_pause();
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return quit_ || started_.load(std::memory_order_relaxed) != seen; });
      if (quit_) return;
      seen = started_.load(std::memory_order_relaxed);
    }
    if (!join(nullptr)) continue;
    take_chunks(scratch_[index], nullptr);
    leave(false);
  }
}

bool CpuExecutor::lend(RunState& run) noexcept {
  if (!join(&run.carrier())) return false;
  take_chunks(scratch_.back(), &run);
  leave(true);
  return true;
}

/// Takes a place in the current run; for a waiter, which names its run, the waiter's place.
bool CpuExecutor::join(const RunState* waited) noexcept {
  const std::lock_guard lock(mutex_);
  if (!open_ || participants_ >= threads_ || next_.load(std::memory_order_relaxed) >= chunks_)
    return false;
  if (waited != nullptr) {
    if (run_ != waited || lent_) return false;
    lent_ = true;
  }
  ++participants_;
  return true;
}

/// Gives the place up. The last thread ends the run, unless it was lent by a rider that stopped:
/// then the workers go on.
void CpuExecutor::leave(bool lent) noexcept {
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    if (lent) lent_ = false;
    if (--participants_ != 0) return;
    goes_on = open_ = next_.load(std::memory_order_relaxed) < chunks_ &&
                      run_->stop_word().load(std::memory_order_relaxed) == 0;
    if (goes_on) started_.fetch_add(1, std::memory_order_release);
  }
  if (goes_on)
    wake_.notify_all();
  else
    end_run();
}

void CpuExecutor::end_run() noexcept {
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  const auto& first = tape_->first_chunk_;
  const auto steps = static_cast<std::uint32_t>(tape_->steps_.size());
  const auto steps_done = static_cast<std::uint32_t>(
      std::upper_bound(first.begin() + 1, first.end(), done) - first.begin() - 1);
  queue_->finish(*run_, done == chunks_ ? RunStatus::done : RunStatus::stopped, steps_done, steps);
}

/// Runs the chunks that this thread can get. Returns when none is left, when the run is to stop, or
/// when that of the waiter who lends the thread is.
void CpuExecutor::take_chunks(std::byte* scratch, RunState* waiter) noexcept {
  RunState& run = *run_;
  const CpuTape& tape = *tape_;
  const std::atomic<std::uint32_t>& word = run.stop_word();
  const detail::HostSignals* host = run.host_signals();
  const ChunkContext context{&run.request().args, tape.arena(), scratch};
  const detail::HostSignals* callbacks = waiter != nullptr ? waiter->callbacks() : nullptr;
  RunState* rider = waiter != &run ? waiter : nullptr;
  const auto raise = [](RunState& asked, StopReason reason) {
    if (reason != StopReason::none) asked.raise(reason, Clock::now());
    return reason != StopReason::none;
  };
  const DefaultFloatMode float_mode;
  // A look at the host's signals takes as long as a short chunk may. Tests want each counted.
  const bool counts_looks = host != nullptr && !host->countdowns.empty();
  const float look_seconds = counts_looks ? -1 : static_cast<float>(chunk_seconds);
  const detail::HostSignals* while_waiting = counts_looks ? nullptr : host;
  float unseen_seconds = 0;
  std::size_t step = 0;
  for (;;) {
    if (rider != nullptr) {
      // A chunk that is taken has to be run for the others.
      if (callbacks != nullptr) raise(*rider, callbacks->call());
      if (rider->stop_word().load(std::memory_order_relaxed) != 0) return;
    }
    const std::uint64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return;
    while (chunk >= tape.first_chunk_[step + 1]) ++step;
    const TapeStep& s = tape.steps_[step];
    const auto index = static_cast<std::uint32_t>(chunk - tape.first_chunk_[step]);
    std::uint64_t before = tape.first_chunk_[step];
    if (s.needs != nullptr) before += s.needs(s.arguments, *context.run, index);
    for (int spins = 0; done_.load(std::memory_order_acquire) < before; ++spins) {
      if (word.load(std::memory_order_relaxed) != 0) return;
      if (spins < spins_before_yield) {
        spin_pause();
        if (spins % spins_before_look != 0) continue;
      } else {
        std::this_thread::yield();
      }
      if (while_waiting != nullptr && raise(run, while_waiting->check())) return;
    }
    if (word.load(std::memory_order_relaxed) != 0) return;
    if (host != nullptr) {
      const float seconds = tape.chunk_seconds_[step];
      if (unseen_seconds + seconds > look_seconds) {
        unseen_seconds = 0;
        if (raise(run, host->check())) return;
      }
      unseen_seconds += seconds;
    }
    if (callbacks != nullptr && rider == nullptr && raise(run, callbacks->call())) return;
    s.chunk(s.arguments, context, index);
    done_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace tacet::cpu
