#include "tacet/model.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/checksum.hpp"
#include "ops/ops.hpp"
#include "runtime/model_impl.hpp"
#include "runtime/session_impl.hpp"

namespace tacet {

namespace detail {

std::uint32_t row_class(std::uint32_t rows) noexcept {
  return rows <= 8 ? rows : std::bit_ceil(rows);
}

DType dtype_of(KvType type) noexcept {
  switch (type) {
    case KvType::f32:
      return DType::f32;
    case KvType::f16:
      return DType::f16;
    case KvType::bf16:
      return DType::bf16;
    case KvType::q8_0:
      return DType::q8_0;
    case KvType::q5_1:
      return DType::q5_1;
    case KvType::q5_0:
      return DType::q5_0;
    case KvType::q4_1:
      return DType::q4_1;
    case KvType::q4_0:
      return DType::q4_0;
  }
  return DType::f16;
}

PlanOptions plan_options(std::uint32_t context, const SessionOptions& options) noexcept {
  return {.context = context,
          .window = options.window,
          .k_type = dtype_of(options.k_type),
          .v_type = dtype_of(options.v_type)};
}

std::optional<KvType> kv_type_of(DType type) noexcept {
  for (const KvType kv : {KvType::f32, KvType::f16, KvType::bf16, KvType::q8_0, KvType::q5_1,
                          KvType::q5_0, KvType::q4_1, KvType::q4_0})
    if (dtype_of(kv) == type) return kv;
  return std::nullopt;
}

Result<void> check_kv_types(const ModelConfig& config, DType k_type, DType v_type) {
  const auto check = [](std::string_view what, DType type, std::uint32_t size) -> Result<void> {
    const std::size_t block = tacet::info(type).block_size;
    if (size % block == 0) return {};
    return fail(Code::unsupported,
                "{} can not be kept in {}, which has blocks of {}, since the heads of this model "
                "have {} elements; use f16 or bf16.",
                what, name(type), block, size);
  };
  if (auto checked = check("Keys", k_type, config.k_head_size); !checked) return checked;
  return check("Values", v_type, config.v_head_size);
}

Result<void> check_context(std::uint32_t context) {
  constexpr std::uint32_t most_context = 1U << 22;
  if (context <= most_context) return {};
  return fail(Code::invalid_argument, "A context of {} tokens is too large; use at most {}.",
              context, most_context);
}

namespace {

/// Whether the device can run the model's layers at all, found before the first run by planning one
/// row.
Result<void> check_plan(const ModelImpl& model) {
  auto plan = model.plan(1, {.context = 32}, {.candidates = true});
  if (!plan) return fail(std::move(plan));
  return {};
}

/// The graph with top_k of its logits as its output.
Result<Graph> with_candidates(Graph graph, std::uint32_t k) {
  Node node{.op = &ops::top_k,
            .inputs = {graph.output},
            .outputs = {static_cast<ValueId>(graph.values.size())},
            .attributes = Attributes(ops::TopKAttributes{static_cast<std::int32_t>(k)}),
            .name = "candidates"};
  auto types = ops::top_k.infer({&graph[graph.output].type, 1}, node.attributes);
  if (!types) return fail(std::move(types));
  graph.output = node.outputs[0];
  graph.values.push_back({.name = node.name, .type = types->front()});
  graph.nodes.push_back(std::move(node));
  return graph;
}

std::uint64_t fingerprint_of(std::span<const std::byte> file, const Gguf& gguf) {
  constexpr std::size_t part = 64;
  Checksum sum;
  std::size_t header = file.size();
  for (const TensorInfo& tensor : gguf.tensors()) {
    if (tensor.data.empty()) continue;
    header = std::min(header, static_cast<std::size_t>(tensor.data.data() - file.data()));
    sum.add(tensor.data.first(std::min(part, tensor.data.size())));
  }
  sum.add(file.first(header));
  return sum.value();
}

std::uint32_t longest_token(const Tokenizer& tokenizer) {
  if (!tokenizer.piece_by_piece()) return std::numeric_limits<std::uint32_t>::max();
  std::size_t longest = 0;
  for (std::size_t i = 0; i < tokenizer.size(); ++i)
    longest = std::max(longest, tokenizer.piece(static_cast<Token>(i), true).size());
  return static_cast<std::uint32_t>(longest);
}

ModelInfo describe(const Gguf& file, const ModelConfig& config, const Weights& weights) {
  ModelInfo info;
  info.architecture = config.architecture;
  info.name = std::string(file.string_value("general.name", "").value_or(""));
  info.types = weights.types();
  info.parameters = weights.parameters();
  info.weight_bytes = weights.bytes();
  info.context_length = config.context_length;
  info.vocabulary = config.vocabulary;
  info.layers = config.layers;
  info.width = config.width;
  return info;
}

}  // namespace

Result<std::shared_ptr<const ModelImpl>> ModelImpl::create(std::shared_ptr<const EngineImpl> engine,
                                                           FileBytes file, const std::string& name,
                                                           const StopToken& stop,
                                                           GpuLayers gpu_layers) {
  const auto stopped = [&stop] { return stop.stop_requested(); };
  const auto stop_error = [] { return fail(Code::stopped, "The load was stopped."); };
  if (auto checked = engine->check(gpu_layers); !checked) return fail(std::move(checked));
  auto gguf = read_gguf(file.bytes(), name);
  if (!gguf) return fail(std::move(gguf));
  if (stopped()) return stop_error();
  auto architecture = architecture_of(*gguf);
  if (!architecture) return fail(std::move(architecture));
  auto config = (*architecture)->configure(*gguf);
  if (!config) return fail(std::move(config));
  auto weights = Weights::read(*gguf);
  if (!weights) return fail(std::move(weights));
  auto vocabulary = vocabulary_from_gguf(*gguf);
  if (!vocabulary) return fail(std::move(vocabulary));
  if (stopped()) return stop_error();
  auto tokenizer = Tokenizer::build(*vocabulary);
  if (!tokenizer) return fail(std::move(tokenizer));
  if (tokenizer->size() > config->vocabulary)
    return fail(Code::corrupt,
                "The file has {} tokens but only {} embeddings; use a complete model.",
                tokenizer->size(), config->vocabulary);
  ChatTemplate chat_template = ChatTemplate::build(*tokenizer);
  if (!chat_template.warning().empty())
    engine->log().write(LogLevel::warning, chat_template.warning());
  if (stopped()) return stop_error();

  std::shared_ptr<ModelImpl> model(new ModelImpl(std::move(engine), std::move(file),
                                                 std::move(*tokenizer), std::move(chat_template)));
  model->architecture_ = *architecture;
  model->fingerprint_ = fingerprint_of(model->file_.bytes(), *gguf);
  model->config_ = std::move(*config);
  model->info_ = describe(*gguf, model->config_, *weights);
  model->info_.longest_token = longest_token(model->tokenizer_);
  if (auto placed = model->place(*gguf, std::move(*weights), gpu_layers, stop); !placed)
    return fail(std::move(placed));
  if (auto planned = check_plan(*model); !planned) return fail(std::move(planned));
  return model;
}

Result<const Plan*> ModelImpl::plan(std::uint32_t rows, PlanOptions options, RunOutputs outputs,
                                    const StopToken& stop) const {
  // Contexts are rounded up, so that sessions of similar sizes share their plans.
  options.context = std::bit_ceil(std::max(options.context, KvPool::page_tokens));
  outputs.rows = row_class(outputs.rows);
  const PlanKey key{row_class(rows), outputs, options};
  std::unique_lock lock(mutex_);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second.get();
  if (auto checked = check_kv_types(config_, options.k_type, options.v_type); !checked)
    return fail(std::move(checked));
  std::unique_ptr<Plan> plan;
  for (const Part& part : parts_) {
    auto graph = build(part, {.rows = key.rows,
                              .outputs = outputs.rows,
                              .max_keys = options.context,
                              .window = options.window,
                              .k_type = options.k_type,
                              .v_type = options.v_type});
    const std::uint32_t candidates = outputs.candidates ? candidate_count(config_.vocabulary) : 0;
    if (graph && candidates != 0 && part.place.end_layer == config_.layers)
      graph = with_candidates(std::move(*graph), candidates);
    if (!graph) return fail(std::move(graph));
    auto next = make_plan(std::move(*graph), *part.place.device, stop);
    if (!next) return fail(std::move(next));
    plan = plan == nullptr ? std::move(*next) : join_plans(std::move(plan), std::move(*next));
  }
  const Plan* made = plans_.emplace(key, std::move(plan)).first->second.get();
  lock.unlock();  // the log function is the user's
  for (const Plan* part = made; part != nullptr; part = part->lower.get())
    for (const PlanNote& note : part->notes)
      engine_->log().once(LogLevel::info, fmt::format("{}/{}", part->device, note.op->name),
                          note.sentence);
  return made;
}

std::shared_ptr<KvPool> ModelImpl::kv_pool(DType k_type, DType v_type) const {
  const std::lock_guard lock(mutex_);
  auto& pool = pools_[{k_type, v_type}];
  if (pool == nullptr) {
    std::vector<Place> places;
    for (const Part& part : parts_) places.push_back(part.place);
    pool = std::make_shared<KvPool>(places, config_, k_type, v_type);
  }
  return pool;
}

}  // namespace detail

const ModelInfo& Model::info() const noexcept {
  return impl_->info();
}

Result<std::vector<Token>> Model::tokenize(std::string_view text, bool special,
                                           const StopToken& stop) const {
  return guard([&] { return impl_->tokenizer().encode(text, special, stop); });
}

Result<std::string> Model::detokenize(std::span<const Token> tokens, bool special) const {
  return guard([&]() -> Result<std::string> { return impl_->tokenizer().decode(tokens, special); });
}

bool Model::is_end(Token token) const noexcept {
  return impl_->tokenizer().is_end(token);
}

std::optional<Token> Model::start_token() const noexcept {
  return impl_->tokenizer().add_bos() ? impl_->tokenizer().bos() : std::nullopt;
}

Result<std::string> Model::render_chat(std::span<const ChatMessage> messages, bool answer) const {
  return guard(
      [&] { return impl_->chat_template().render(messages, ChatOptions{.answer = answer}); });
}

Result<std::string> Model::render_chat(std::span<const ChatMessage> messages,
                                       const ChatOptions& options) const {
  return guard([&] { return impl_->chat_template().render(messages, options); });
}

Result<Session> Model::restore_session(const std::string& path, std::uint32_t context,
                                       const StopToken& stop, std::string* note) const {
  return guard([&]() -> Result<Session> {
    auto impl = detail::SessionImpl::restore(impl_, path, context, stop, note);
    if (!impl) return fail(std::move(impl));
    return Session(std::move(*impl));
  });
}

Result<Session> Model::new_session(const SessionOptions& options) const {
  return guard([&]() -> Result<Session> {
    auto impl = detail::SessionImpl::create(impl_, options);
    if (!impl) return fail(std::move(impl));
    return Session(std::move(*impl));
  });
}

Result<PlanReport> Model::plan(std::uint32_t rows, std::uint32_t keys,
                               const SessionOptions& options) const {
  return guard([&]() -> Result<PlanReport> {
    if (rows < 1 || rows > detail::chunk_rows)
      return fail(Code::invalid_argument, "A run has 1 to {} rows, not {}.", detail::chunk_rows,
                  rows);
    if (keys < rows || keys > impl_->config().context_length)
      return fail(Code::invalid_argument, "A run of {} rows sees {} to {} keys, not {}.", rows,
                  rows, impl_->config().context_length, keys);
    const std::uint32_t context = std::max(options.context, keys);
    if (auto checked = detail::check_context(context); !checked) return fail(std::move(checked));
    auto plan =
        impl_->plan(rows, detail::plan_options(context, options), {.candidates = rows == 1});
    if (!plan) return fail(std::move(plan));
    PlanReport report;
    report.rows = rows;
    report.keys = keys;
    const std::uint32_t whole =
        options.context != 0
            ? context
            : std::max(context, std::min(impl_->config().context_length, detail::default_context));
    report.places = impl_->places(**plan, detail::plan_options(whole, options));
    std::vector<const Plan*> parts{*plan};
    if ((*plan)->lower != nullptr) parts.insert(parts.begin(), (*plan)->lower.get());
    for (const Plan* part : parts) {
      report.arena_bytes += part->arena_bytes;
      for (std::size_t i = 0; i < part->graph.nodes.size(); ++i) {
        const Node& node = part->graph.nodes[i];
        const Work work = node.op->work(NodeTypes(part->graph, node).view(), {rows, keys});
        report.steps.push_back({.name = node.name,
                                .op = std::string(node.op->name),
                                .place = part->device,
                                .kernel = std::string(part->kernels[i]->name),
                                .bytes = work.bytes,
                                .operations = work.operations});
      }
      for (const PlanNote& note : part->notes) report.notes.push_back(note.sentence);
    }
    return report;
  });
}

}  // namespace tacet
