#pragma once

#include <memory>
#include <vector>

#include "backends/fake/fake_device.hpp"
#include "ops/ops.hpp"
#include "plan/plan.hpp"

namespace tacet::test {

/// A fake device with a plan of `steps` steps that computes silu(silu(...x)) of a few numbers, and
/// what a run of it needs.
class FakeTape {
 public:
  explicit FakeTape(std::uint32_t steps, const FakeOptions& options = {}) {
    device_ = std::move(make_fake_device(options).value());
    const ValueType type{DType::f32, {1, 4}};
    const auto* input = reinterpret_cast<const std::byte*>(input_.data());
    weight_ = std::move(device_->arrange(type, input, Layout::rows).value());
    GraphBuilder graph(1, 1);
    ValueId x = graph.weight("x", type, weight_->data());
    for (std::uint32_t i = 0; i < steps; ++i) x = graph.add(ops::silu, "silu", {x});
    plan_ = std::move(make_plan(std::move(graph.finish(x).value()), *device_).value());
  }

  FakeDevice& device() { return *device_; }
  RunQueue& queue() { return device_->queue(); }

  /// A run whose result goes to `output`.
  RunRequest request(const StopToken& token = {}, const void* chain = nullptr) {
    RunArgs args;
    args.rows = 1;
    args.output_rows = rows_;
    args.logits = output.data();
    return {.tape = plan_->tape.get(), .args = args, .token = token, .chain = chain};
  }
  RunHandle submit(const StopToken& token = {}, const void* chain = nullptr) {
    return RunHandle(queue(), *queue().submit(request(token, chain)).value());
  }

  std::vector<float> output = std::vector<float>(4);

 private:
  std::vector<float> input_ = {1, 2, 3, 4};
  std::vector<std::int32_t> rows_ = {0};
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Buffer> weight_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tacet::test
