#include "backends/cpu/executor.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tacet {
namespace {

using namespace cpu;
using namespace std::chrono_literals;

/// Two steps of a chunk each: the first one stores a byte and goes on until its run is to stop, or
/// for long.
struct Shared {
  unsigned char byte = 0;
  std::atomic<const RunState*> run = nullptr;
  bool saw_stop = false;
};
struct StoreAndWait {
  Shared* shared;

  static std::uint32_t count(const void*, const RunArgs&) { return 1; }
  static void chunk(const void* arguments, const ChunkContext&, std::uint32_t) {
    Shared& shared = *static_cast<const StoreAndWait*>(arguments)->shared;
    __atomic_store_n(&shared.byte, 1, __ATOMIC_RELAXED);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!shared.saw_stop && std::chrono::steady_clock::now() < end) {
      const RunState* run = shared.run.load(std::memory_order_acquire);
      shared.saw_stop = run != nullptr && run->stop_word().load(std::memory_order_relaxed) != 0;
    }
  }
  static void nothing(const void*, const ChunkContext&, std::uint32_t) {}
};

TEST(CpuExecutor, AThreadThatWaitsLooksAtBytes) {
  AlignedBytes scratch(2 * scratch_bytes);
  std::byte* const places[] = {scratch.data(), scratch.data() + scratch_bytes};
  CpuExecutor executor(2, places);
  RunQueue queue(executor);
  executor.attach(queue);
  Shared shared;
  TapeBuilder builder;
  builder.node("store and wait");
  builder.step(StoreAndWait{&shared}, StoreAndWait::count, StoreAndWait::chunk);
  builder.step(StoreAndWait{&shared}, StoreAndWait::count, StoreAndWait::nothing);
  const CpuTape tape({.nodes = {}, .arena_bytes = 0, .rows = 1}, std::move(builder),
                     std::make_shared<AlignedBytes>(64));
  RunArgs args;
  args.rows = 1;
  RunState* run =
      queue.submit({.tape = &tape, .args = args, .token = StopToken::byte(&shared.byte)}).value();
  RunHandle handle(queue, *run);
  shared.run.store(run, std::memory_order_release);
  const RunResult& result = handle.wait();
  EXPECT_TRUE(shared.saw_stop) << "the thread that waits for the first step has to raise it";
  EXPECT_EQ(result.status, RunStatus::stopped);
  EXPECT_EQ(result.reason, StopReason::requested);
}

}  // namespace
}  // namespace tacet
