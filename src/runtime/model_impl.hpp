#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "backends/conductor.hpp"
#include "formats/mapped_file.hpp"
#include "models/architecture.hpp"
#include "plan/plan.hpp"
#include "runtime/kv_pool.hpp"
#include "runtime/log.hpp"
#include "tacet/engine.hpp"
#include "tacet/model.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

namespace tacet::detail {

/// What an Engine refers to: the device that models run on, the CPU for what is not to run there,
/// and the log.
class EngineImpl {
 public:
  /// `host`: in place of the CPU, for tests. `threads` as for `open_device`.
  EngineImpl(std::unique_ptr<Device> device, LogFunction log,
             std::unique_ptr<Device> host = nullptr, unsigned threads = 0)
      : device_(std::move(device)),
        host_(std::move(host)),
        threads_(threads),
        log_(std::move(log)) {}

  Device& device() const noexcept { return *device_; }
  /// Whether there is no other device than the CPU.
  bool is_cpu() const noexcept { return host_ == nullptr && device_->info().name == "cpu"; }
  /// The CPU, opened at the first call.
  Result<Device*> host() const;
  /// Refuses what asks for a GPU where there is none.
  Result<void> check(GpuLayers layers) const;
  Log& log() const noexcept { return log_; }

 private:
  std::unique_ptr<Device> device_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Device> host_;
  unsigned threads_;
  mutable Log log_;
};

/// What the plans of a session depend on.
struct PlanOptions {
  std::uint32_t context = 0;  ///< the most cells
  std::uint32_t window = 0;   ///< of every layer; 0: none
  DType k_type = DType::f16;
  DType v_type = DType::f16;
  auto operator<=>(const PlanOptions&) const = default;
};

/// What a run gives.
struct RunOutputs {
  std::uint32_t rows = 1;   ///< the most rows that are asked for
  bool candidates = false;  ///< the most likely tokens, where candidate_count is not 0
  auto operator<=>(const RunOutputs&) const = default;
};

/// What a Model refers to: weights, text, and the caches that its sessions share. Thread-safe.
class ModelImpl {
 public:
  /// Makes a model of a file whose bytes are resident; `name` is for messages. Looks at `stop`
  /// between its stages.
  static Result<std::shared_ptr<const ModelImpl>> create(
      std::shared_ptr<const EngineImpl> engine, FileBytes file, const std::string& name,
      const StopToken& stop = {}, GpuLayers gpu_layers = GpuLayers::automatic());

  const EngineImpl& engine() const noexcept { return *engine_; }
  /// Where its runs are submitted.
  RunQueue& queue() const noexcept {
    return conductor_ != nullptr ? conductor_->queue() : parts_.front().place.device->queue();
  }
  const ModelConfig& config() const noexcept { return config_; }
  const ModelInfo& info() const noexcept { return info_; }
  /// A number that no other model has, but for accidents: of the file's header and of a part of
  /// each tensor.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  const Tokenizer& tokenizer() const noexcept { return tokenizer_; }
  const ChatTemplate& chat_template() const noexcept { return chat_template_; }

  /// The plan for a run of up to `rows` rows, made at the first call; lives as long as the model.
  /// Making one looks at `stop`.
  Result<const Plan*> plan(std::uint32_t rows, PlanOptions options, RunOutputs outputs = {},
                           const StopToken& stop = {}) const;
  /// What is where; of keys and values what a session of `options` may need.
  std::vector<PlanPlace> places(const Plan& plan, PlanOptions options) const;
  /// The memory that sessions with these types share.
  std::shared_ptr<KvPool> kv_pool(DType k_type, DType v_type) const;

 private:
  ModelImpl(std::shared_ptr<const EngineImpl> engine, FileBytes file, Tokenizer tokenizer,
            ChatTemplate chat_template)
      : engine_(std::move(engine)),
        file_(std::move(file)),
        tokenizer_(std::move(tokenizer)),
        chat_template_(std::move(chat_template)) {}

  struct PlanKey {
    std::uint32_t rows;
    RunOutputs outputs;
    PlanOptions options;
    auto operator<=>(const PlanKey&) const = default;
  };

  /// What one device computes, and its weights.
  struct Part {
    Place place;
    Weights weights;
    std::uint64_t weight_bytes = 0;
  };

  Result<void> place(const Gguf& gguf, Weights weights, GpuLayers asked, const StopToken& stop);
  Result<void> arrange_weights(Part& part, const std::set<std::string>& kept,
                               const StopToken& stop);
  Result<Graph> build(const Part& part, const GraphClass& shape) const;

  std::shared_ptr<const EngineImpl> engine_;
  FileBytes file_;
  Tokenizer tokenizer_;
  ChatTemplate chat_template_;
  const Architecture* architecture_ = nullptr;
  ModelConfig config_;
  ModelInfo info_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Part> parts_;               ///< one, or that of the lower and of the upper layers
  std::unique_ptr<Conductor> conductor_;  ///< of two parts

  mutable std::mutex mutex_;
  mutable std::map<PlanKey, std::unique_ptr<Plan>> plans_;
  mutable std::map<std::pair<DType, DType>, std::shared_ptr<KvPool>> pools_;
};

/// The rows of the plan that runs `rows` rows: the number itself up to 8, then powers of two.
std::uint32_t row_class(std::uint32_t rows) noexcept;
/// The tokens that a session holds, where nobody says and the model was trained for as many.
inline constexpr std::uint32_t default_context = 4096;
/// The most rows of a run. Longer prompts are cut at multiples of it.
inline constexpr std::uint32_t chunk_rows = 512;

DType dtype_of(KvType type) noexcept;
PlanOptions plan_options(std::uint32_t context, const SessionOptions& options) noexcept;
/// The inverse; empty for types that no keys are kept in.
std::optional<KvType> kv_type_of(DType type) noexcept;

/// Whether the keys and values of such heads can be kept so: no block of a type spans two heads.
Result<void> check_kv_types(const ModelConfig& config, DType k_type, DType v_type);
/// Refuses contexts that are too large for any plan.
Result<void> check_context(std::uint32_t context);

}  // namespace tacet::detail
