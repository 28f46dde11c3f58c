#include "ops/harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>

#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

using Kind = Input::Kind;

constexpr std::size_t guard_floats = 1024;
constexpr float guard_value = 1234.5F;

std::string describe(const Step& step) {
  std::string text;
  for (const Input& input : step.inputs)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(input.type.dtype),
                        to_string(input.type.shape));
  return fmt::format("{}({})", step.op->name, text);
}

/// The first `count` numbers of the problem's input of this kind, or numbers that fit.
std::vector<std::int32_t> run_indices(const Problem& problem, Kind kind, std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i);
  for (const Step& step : problem.steps)
    for (const Input& input : step.inputs)
      if (input.kind == kind) std::memcpy(numbers.data(), input.bytes.data(), count * 4);
  return numbers;
}

/// A part made by hand, with the memory that it points to.
class PartBuilder {
 public:
  PartBuilder(Device& device, Inputs where) : device_(device), where_(where) {}

  Ref in_arena(std::size_t bytes) {
    const Ref ref{.space = Ref::Space::arena, .offset = arena_};
    arena_ += (bytes + 63) / 64 * 64;
    return ref;
  }

  Result<void> add(const Step& step, std::vector<ValueType> output_types, std::vector<Ref> inputs,
                   std::vector<Ref> outputs) {
    auto& in = types_.emplace_back(input_types(step));
    const auto& out = types_.emplace_back(std::move(output_types));
    const auto& attributes = attributes_.emplace_back(step.attributes);
    PlacedNode node;
    node.view = {.op = step.op, .inputs = in, .outputs = out, .attributes = &attributes};
    inputs_.push_back(std::move(inputs));
    node.outputs = outputs_.emplace_back(std::move(outputs));
    node.selected = is_selected(step);
    node.name = step.op->name;
    node.kernel = device_.find(node.view);
    if (node.kernel == nullptr)
      return fail(Code::unsupported, "{} has no kernel for {}.", device_.info().name,
                  describe(step));
    if (node.kernel->workspace != nullptr)
      node.workspace = in_arena(node.kernel->workspace(node.view));
    if (auto arranged = arrange(step, *node.kernel, in, inputs_.back()); !arranged) return arranged;
    node.inputs = inputs_.back();
    nodes_.push_back(node);
    return {};
  }

  Part part(std::uint32_t rows) const {
    return {.nodes = nodes_, .arena_bytes = arena_, .rows = rows};
  }

 private:
  /// Brings the step's matrices into the layout of `kernel`, and all that is given to a device that
  /// does not read the host's memory into its own.
  Result<void> arrange(const Step& step, const Kernel& kernel, std::vector<ValueType>& types,
                       std::vector<Ref>& inputs) {
    const bool stays = device_.info().reads_host_memory;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].space != Ref::Space::weight) continue;
      Layout layout = Layout::rows;
      if (step.inputs[i].kind == Kind::constant && types[i].shape.rank() == 2)
        layout = kernel.layout.value_or(where_ == Inputs::arranged ? Layout::groups : Layout::rows);
      if (stays && layout == Layout::rows) continue;
      auto buffer = device_.arrange(types[i], inputs[i].data, layout);
      if (!buffer) return fail(std::move(buffer));
      types[i].layout = layout;
      inputs[i].data = (*buffer)->data();
      arranged_.push_back(std::move(*buffer));
    }
    return {};
  }

  Device& device_;
  Inputs where_;
  std::deque<std::vector<ValueType>> types_;
  std::deque<std::vector<Ref>> inputs_, outputs_;
  std::vector<std::unique_ptr<Buffer>> arranged_;
  std::deque<Attributes> attributes_;
  std::vector<PlacedNode> nodes_;
  std::size_t arena_ = 64;  // so that no offset is 0
};

Ref place(const Input& input) {
  switch (input.kind) {
    case Kind::tokens:
      return {.space = Ref::Space::tokens};
    case Kind::positions:
      return {.space = Ref::Space::positions};
    case Kind::output_rows:
      return {.space = Ref::Space::output_rows};
    case Kind::keys:
    case Kind::values:
      return {.space = Ref::Space::state, .layer = KvMemory::layer};
    default:
      return {.space = Ref::Space::weight, .data = input.bytes.data()};
  }
}

std::size_t bytes_of(const ValueType& type) {
  return static_cast<std::size_t>(type.shape.elements()) * sizeof(float);
}

/// Adds a node that copies `input` to the arena: it adds 0.
Result<Ref> copy_to_arena(PartBuilder& builder, const Input& input, const Input& zeros) {
  const Step step{.op = &ops::add, .inputs = {input, zeros}};
  const Ref copy = builder.in_arena(bytes_of(input.type));
  if (auto added = builder.add(step, {input.type}, {place(input), place(zeros)}, {copy}); !added)
    return fail(std::move(added));
  return copy;
}

Input zeros_like(const Input& input) {
  const std::int64_t width = input.type.shape.width();
  return {Kind::constant,
          {DType::f32, {width}},
          std::vector<std::byte>(static_cast<std::size_t>(width) * sizeof(float))};
}

/// Memory for one output that is looked at, guarded on both sides.
class ShownOutput {
 public:
  explicit ShownOutput(std::size_t size) : memory_(size + 2 * guard_floats, guard_value) {
    std::fill_n(memory_.begin() + guard_floats, size, std::numeric_limits<float>::quiet_NaN());
  }
  float* data() { return memory_.data() + guard_floats; }
  bool intact() const {
    const auto is_guard = [](float value) { return value == guard_value; };
    return std::all_of(memory_.begin(), memory_.begin() + guard_floats, is_guard) &&
           std::all_of(memory_.end() - guard_floats, memory_.end(), is_guard);
  }
  std::vector<float> values() const {
    return {memory_.begin() + guard_floats, memory_.end() - guard_floats};
  }

 private:
  std::vector<float> memory_;
};

/// Builds the part whose last node's output `shown` goes to the logits.
Result<void> build(PartBuilder& builder, const Problem& problem, Inputs where, std::size_t shown,
                   std::deque<Input>& kept) {
  for (const Step& step : problem.steps) {
    std::vector<Ref> inputs;
    for (const Input& input : step.inputs) {
      inputs.push_back(place(input));
      if (where != Inputs::in_arena || input.kind != Kind::by_row) continue;
      auto copy = copy_to_arena(builder, input, kept.emplace_back(zeros_like(input)));
      if (!copy) return fail(std::move(copy));
      inputs.back() = *copy;
    }
    auto types = step.op->infer(input_types(step), step.attributes);
    if (!types) return fail(std::move(types));
    std::vector<Ref> outputs;
    for (std::size_t i = 0; i < types->size(); ++i) {
      if (step.op->writes_state)
        outputs.push_back({.space = Ref::Space::state, .layer = KvMemory::layer});
      else if (&step == &problem.steps.back() && i == shown)
        outputs.push_back({.space = Ref::Space::logits});
      else
        outputs.push_back(builder.in_arena(bytes_of((*types)[i])));
    }
    if (auto added = builder.add(step, *types, inputs, outputs); !added)
      return fail(std::move(added));
  }
  return {};
}

Result<void> run(Device& device, const Tape& tape, const RunArgs& args) {
  auto state = device.queue().submit({.tape = &tape, .args = args, .token = {}});
  if (!state) return fail(std::move(state));
  RunHandle handle(device.queue(), **state);
  const RunResult& result = handle.wait();
  if (result.status == RunStatus::done) return {};
  return result.error ? Result<void>(tl::unexpected(*result.error))
                      : fail(Code::internal, "The run stopped by itself.");
}

/// Computes the output `shown` of the last node into `outcome`.
Result<void> compute_output(Device& device, const Problem& problem, Inputs where, std::size_t shown,
                            Outcome& outcome) {
  PartBuilder builder(device, where);
  std::deque<Input> kept;
  if (auto built = build(builder, problem, where, shown, kept); !built)
    return fail(std::move(built));
  auto tape = device.lower(builder.part(problem.rows + problem.spare));
  if (!tape) return fail(std::move(tape));

  const bool has_output = shown < outcome.widths.size();
  const std::uint32_t rows = live_rows(problem, problem.steps.back());
  ShownOutput output(has_output ? rows * outcome.widths[shown] : 0);
  const auto tokens = run_indices(problem, Kind::tokens, problem.rows);
  const auto positions = run_indices(problem, Kind::positions, problem.rows);
  const auto selected = run_indices(problem, Kind::output_rows, rows);
  RunArgs args;
  args.rows = problem.rows;
  args.tokens = tokens;
  args.positions = positions;
  args.output_rows = selected;
  args.logits = output.data();
  std::unique_ptr<Buffer> memory;
  if (!problem.kv.empty()) {
    const auto bytes = op_tests::bytes_of(problem.kv);
    auto allocated = device.allocate(bytes.size(), "test pages");
    if (!allocated) return fail(std::move(allocated));
    memory = std::move(*allocated);
    if (auto written = device.write(memory->data(), bytes); !written)
      return fail(std::move(written));
  }
  const KvRun kv(problem.kv, memory != nullptr ? memory->data() : nullptr, problem.rows);
  args.kv = kv.view();
  if (auto ended = run(device, **tape, args); !ended) return fail(std::move(ended));

  if (!output.intact())
    return fail(Code::internal, "{} wrote outside of output {}.", describe(problem.steps.back()),
                shown);
  if (has_output) outcome.outputs.push_back(output.values());
  if (memory != nullptr) {
    outcome.kv.resize(memory->size());
    if (auto read = device.read(outcome.kv, memory->data()); !read) return fail(std::move(read));
  }
  return {};
}

}  // namespace

Result<Outcome> compute(Device& device, const Problem& problem, Inputs inputs) {
  Outcome outcome{.widths = output_widths(problem.steps.back())};
  const std::size_t runs = std::max<std::size_t>(1, outcome.widths.size());
  for (std::size_t shown = 0; shown < runs; ++shown)
    if (auto computed = compute_output(device, problem, inputs, shown, outcome); !computed)
      return fail(std::move(computed));
  return outcome;
}

}  // namespace tacet::op_tests
