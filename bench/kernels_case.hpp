#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/gemm/packed.hpp"
#include "backends/cpu/isa.hpp"
#include "ops/ops.hpp"
#include "types/convert.hpp"

namespace tacet::bench {

/// Memory aligned as a device's is.
class Memory {
 public:
  explicit Memory(std::size_t bytes = 0)
      : size_(bytes),
        data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) & ~63ul))) {
    std::memset(data_.get(), 0xff, bytes);
  }
  Memory(Memory&&) noexcept = default;
  Memory& operator=(Memory&&) noexcept = default;
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

/// One node with its inputs, which a kernel table can compute without a device. Cells behind the
/// run's last one, dead rows and outputs hold NaN before.
struct Case {
  const Op* op = nullptr;
  std::vector<ValueType> inputs{};
  std::vector<bool> is_weight{};  ///< of each input
  Attributes attributes{};
  std::uint32_t rows = 1;  ///< live
  std::uint32_t past = 0;
  std::uint32_t page_tokens = 16;
  std::uint32_t first_row = 0;  ///< the inputs' rows are those from here on of a longer run
  float spread = 1;

  std::vector<ValueType> outputs{};
  std::vector<Memory> data{};         ///< of each input; empty for states
  std::vector<std::int32_t> index{};  ///< tokens, positions or output rows
  std::vector<Memory> pages{};
  std::vector<std::byte*> page_table{};
  KvLayer layer{};
  KvSequence sequence{};

  /// Makes the data. The same seed gives row r of a short run what it gives row r of a long one.
  void prepare(unsigned seed);
  KvView kv() const { return {{&sequence, 1}, {&layer, 1}, page_tokens}; }
  bool has_state() const { return op == &ops::attention || op == &ops::kv_write; }
};

inline void Case::prepare(unsigned seed) {
  auto inferred = op->infer(inputs, attributes);
  if (!inferred) {
    std::printf("%s: %s\n", std::string(op->name).c_str(),
                std::string(inferred.error().message()).c_str());
    std::exit(1);
  }
  outputs = std::move(*inferred);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::normal_distribution<float> normal(0, spread);
    std::mt19937 random(seed + static_cast<unsigned>(i));
    const ValueType& type = inputs[i];
    const bool state = has_state() && i + 2 >= inputs.size();
    if (state) {
      data.emplace_back();
      continue;
    }
    if (type.dtype == DType::i32) {
      index.resize(static_cast<std::size_t>(type.shape.elements()));
      for (auto& x : index) x = static_cast<std::int32_t>(random() % 5000) - 20;
      data.emplace_back();
      continue;
    }
    const auto width = static_cast<std::size_t>(type.shape.width());
    const auto n = static_cast<std::size_t>(type.shape.rows());
    const std::size_t bytes = row_bytes(type.dtype, width);
    data.emplace_back(bytes * n);
    std::vector<float> row(width);
    const std::size_t live = is_weight[i] ? n : std::min<std::size_t>(n, rows);
    for (std::size_t r = 0; r < live + (is_weight[i] ? 0 : first_row); ++r) {
      for (float& x : row) x = normal(random) * (1 + 0.01f * static_cast<float>(r % 7)) + 0.1f;
      const std::size_t skipped = is_weight[i] ? 0 : first_row;
      if (r >= skipped) quantize(type.dtype, row, data.back().data() + (r - skipped) * bytes);
    }
  }
  if (!has_state()) return;
  const ValueType &k = inputs[inputs.size() - 2], &v = inputs[inputs.size() - 1];
  layer = {0,
           0,
           static_cast<std::uint32_t>(k.shape[0]),
           static_cast<std::uint32_t>(k.shape[1]),
           static_cast<std::uint32_t>(v.shape[1]),
           k.dtype,
           v.dtype};
  const std::size_t k_bytes = row_bytes(k.dtype, layer.k_head_size) * page_tokens * layer.heads;
  const std::size_t v_bytes = row_bytes(v.dtype, layer.v_head_size) * page_tokens * layer.heads;
  layer.v_offset = (k_bytes + 63) & ~63ul;
  const std::uint32_t cells = past + rows;
  for (std::uint32_t i = 0; i * page_tokens < cells; ++i) {
    pages.emplace_back(layer.v_offset + v_bytes);
    page_table.push_back(pages.back().data());
  }
  sequence = {.begin = 0, .end = rows, .past = past, .pages = page_table};
  const std::uint32_t known = op == &ops::attention ? cells : past;
  std::mt19937 random(seed + 99);
  std::normal_distribution<float> normal;
  std::vector<float> row(std::max(layer.k_head_size, layer.v_head_size));
  for (std::uint32_t cell = 0; cell < known; ++cell)
    for (std::uint32_t head = 0; head < layer.heads; ++head) {
      for (float& x : row) x = normal(random);
      quantize(k.dtype, std::span(row).first(layer.k_head_size),
               kv().k_row(sequence, 0, head, cell));
      for (float& x : row) x = normal(random) + 0.2f;
      quantize(v.dtype, std::span(row).first(layer.v_head_size),
               kv().v_row(sequence, 0, head, cell));
    }
}

/// A case on a kernel table: the tape of its node, and memory for one thread.
class Bound {
 public:
  Bound(const Case& c, std::span<const cpu::CpuKernel> table) : scratch_(cpu::scratch_bytes) {
    const NodeView view{c.op, c.inputs, c.outputs, &c.attributes};
    for (const auto& kernel : table)
      if (kernel.op == c.op && kernel.supports(view)) {
        kernel_ = &kernel;
        break;
      }
    if (kernel_ == nullptr) return;
    std::size_t arena = 0;
    const auto place = [&](std::size_t bytes) {
      const std::size_t at = arena;
      arena += (bytes + 127) & ~63ul;
      return Ref{Ref::Space::arena, nullptr, at, 0};
    };
    std::vector<Ref> inputs, outputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (c.has_state() && i + 2 >= c.inputs.size())
        inputs.push_back({Ref::Space::state, nullptr, 0, 0});
      else if (c.inputs[i].dtype == DType::i32)
        inputs.push_back({c.op == &ops::embed        ? Ref::Space::tokens
                          : c.op == &ops::rope_table ? Ref::Space::positions
                                                     : Ref::Space::output_rows,
                          nullptr, 0, 0});
      else if (c.is_weight[i])
        inputs.push_back({Ref::Space::weight, weights(c.inputs[i], c.data[i]), 0, 0});
      else
        inputs.push_back(place(c.data[i].size()));
    }
    if (c.op != &ops::kv_write)
      for (const ValueType& type : c.outputs)
        outputs.push_back(place(static_cast<std::size_t>(type.shape.elements()) * sizeof(float)));
    const Ref workspace = place(kernel_->workspace ? kernel_->workspace(view) : 0);
    arena_ = Memory(arena);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].space == Ref::Space::arena)
        std::memcpy(arena_.data() + inputs[i].offset, c.data[i].data(), c.data[i].size());
    for (const Ref& ref : outputs)
      outputs_.push_back(reinterpret_cast<float*>(arena_.data() + ref.offset));
    cpu::TapeBuilder tape;
    tape.node("bench");
    kernel_->emit({kernel_, view, inputs, outputs, workspace, false, "bench"}, tape);
    steps_ = tape.take_steps();
    arguments_ = tape.take_arguments();
    names_ = tape.take_names();
    args_.rows = c.rows;
    args_.tokens = args_.positions = args_.output_rows =
        std::span(c.index).first(c.index.empty() ? 0 : c.rows);
    args_.kv = c.kv();
    if (c.op == &ops::select_rows) args_.rows = static_cast<std::uint32_t>(c.inputs[0].shape[0]);
  }

  const cpu::CpuKernel* kernel() const { return kernel_; }
  const float* output(std::size_t i) const { return outputs_[i]; }

  /// Runs the tape; with a generator, the chunks of each step in random order.
  void run(std::mt19937* random = nullptr) {
    const cpu::ChunkContext context{&args_, arena_.data(), scratch_.data()};
    for (const cpu::TapeStep& step : steps_) {
      const std::uint32_t n = step.count(step.arguments, args_);
      if (random == nullptr) {
        for (std::uint32_t i = 0; i < n; ++i) step.chunk(step.arguments, context, i);
        continue;
      }
      order_.resize(n);
      std::iota(order_.begin(), order_.end(), 0u);
      // Chunks that need the same ones may come in any order.
      for (std::uint32_t begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && needs(step, end) == needs(step, begin)) ++end;
        std::shuffle(order_.begin() + begin, order_.begin() + end, *random);
      }
      for (const std::uint32_t i : order_) {
        std::memset(scratch_.data(), 0xff, scratch_.size());
        step.chunk(step.arguments, context, i);
      }
    }
  }

  std::uint32_t needs(const cpu::TapeStep& step, std::uint32_t chunk) const {
    return step.needs == nullptr ? 0 : step.needs(step.arguments, args_, chunk);
  }
  const cpu::TapeStep* begin() const { return steps_.data(); }
  const cpu::TapeStep* end() const { return steps_.data() + steps_.size(); }
  const RunArgs& args() const { return args_; }
  cpu::ChunkContext context() const { return {&args_, arena_.data(), scratch_.data()}; }

 private:
  /// A matrix as the kernel wants it.
  const std::byte* weights(const ValueType& type, const Memory& rows) {
    if (!kernel_->layout || type.shape.rank() != 2) return rows.data();
    const Memory& packed = packed_.emplace_back(cpu::packed_bytes(type));
    const auto groups =
        static_cast<std::size_t>(type.shape.rows() + cpu::group_rows - 1) / cpu::group_rows;
    for (std::size_t i = 0; i < groups; ++i)
      cpu::pack_group(type, rows.data(), i, packed.data() + i * (packed.size() / groups));
    return packed.data();
  }

  const cpu::CpuKernel* kernel_ = nullptr;
  Memory arena_, scratch_;
  std::vector<Memory> packed_;
  RunArgs args_;
  std::vector<float*> outputs_;
  std::vector<cpu::TapeStep> steps_;
  std::vector<std::unique_ptr<std::byte[]>> arguments_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::uint32_t> order_;
};

}  // namespace tacet::bench
