#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/chat.hpp"
#include "tacet/error.hpp"
#include "tacet/session.hpp"
#include "tacet/stop.hpp"

namespace tacet {

struct ModelInfo {
  std::string architecture;  ///< "qwen3"
  std::string name;          ///< as the file says
  std::string types;         ///< the types of the weights by size, "q8_0, f32"
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;
  std::uint32_t context_length = 0;  ///< tokens that the model was trained for
  std::uint32_t vocabulary = 0;
  /// The most bytes of text that a token stands for; 2^32 - 1 where there is no bound, as with
  /// tokenizers that fold white space.
  std::uint32_t longest_token = 0;
  std::uint32_t layers = 0;
  std::uint32_t width = 0;
  std::string placement;  ///< which layers are on which device, and why: a sentence
};

/// One line of a plan.
struct PlanStep {
  std::string name;       ///< "blk.0.attn_q"
  std::string op;         ///< "matmul"
  std::string place;      ///< the device
  std::string kernel;     ///< "matmul.q8_0.avx2"
  double bytes = 0;       ///< moved, estimated
  double operations = 0;  ///< computed, estimated
};

/// What of a model is on a device.
struct PlanPlace {
  std::string device;
  std::uint32_t first_layer = 0;
  std::uint32_t end_layer = 0;     ///< behind its last layer
  std::uint64_t weight_bytes = 0;  ///< as the file has them
  std::uint64_t kv_bytes = 0;      ///< of a session with a full context
  std::uint64_t arena_bytes = 0;   ///< scratch memory for intermediate values
};

/// How a model's computation is carried out for one shape.
struct PlanReport {
  std::uint32_t rows = 0;
  std::uint32_t keys = 0;
  std::vector<PlanPlace> places;  ///< in the order of their layers
  std::vector<PlanStep> steps;
  std::uint64_t arena_bytes = 0;  ///< scratch memory for intermediate values, on all devices
  std::vector<std::string>
      notes;  ///< decompositions and other things worth knowing, a sentence each
};

/// Weights, tokenizer and chat template of a loaded file. Immutable; a cheap handle that may be
/// copied and used by any thread. Sessions keep it alive.
class Model {
 public:
  const ModelInfo& info() const noexcept;

  /// Token ids of `text`, which must be UTF-8. With `special`, control tokens written out
  /// ("<|im_end|>") become their ids. Code::stopped if `stop` fired.
  Result<std::vector<Token>> tokenize(std::string_view text, bool special = false,
                                      const StopToken& stop = {}) const;
  /// The bytes that `tokens` stand for; control tokens give nothing unless `special`.
  Result<std::string> detokenize(std::span<const Token> tokens, bool special = false) const;
  /// Whether a token ends an answer.
  bool is_end(Token token) const noexcept;
  /// The token that a file wants at the start of a text, if any.
  std::optional<Token> start_token() const noexcept;
  /// The conversation as the model's own chat template writes it; with `answer`, up to where its
  /// answer starts.
  Result<std::string> render_chat(std::span<const ChatMessage> messages, bool answer = true) const;
  /// The same with tools, documents, and variables of the template. Code::invalid_argument for text
  /// that is not the JSON that it should be, and if the template refuses the conversation.
  Result<std::string> render_chat(std::span<const ChatMessage> messages,
                                  const ChatOptions& options) const;

  Result<Session> new_session(const SessionOptions& options = {}) const;
  /// A session as `Session::save` left it: the same bits. `context`, if not 0, is how many tokens
  /// it can hold from now on; else as many as it could. Errors: invalid_argument (not a saved
  /// session, or one of another model), unsupported (of another version of the format), corrupt,
  /// context_full, out_of_memory, stopped. Its note goes to `note`, if that is not null.
  Result<Session> restore_session(const std::string& path, std::uint32_t context = 0,
                                  const StopToken& stop = {}, std::string* note = nullptr) const;
  /// The plan of a run of `rows` rows whose last row sees `keys` keys. One of a single row ends
  /// with the most likely tokens, as a step of `generate` does, others with logits.
  Result<PlanReport> plan(std::uint32_t rows, std::uint32_t keys,
                          const SessionOptions& options = {}) const;

 private:
  friend class Engine;
  explicit Model(std::shared_ptr<const detail::ModelImpl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<const detail::ModelImpl> impl_;
};

}  // namespace tacet
