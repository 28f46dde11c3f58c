#pragma once

#include "tacet/model.hpp"
#include "tacet/stop_trials.hpp"

namespace tacet::cli {

/// `count` token ids of the model's vocabulary, the same each time: for speed it does not matter
/// which.
std::vector<Token> some_tokens(const Model& model, std::size_t count);

/// How many tokens a call may have so that it takes about `time`, at most `most`: measured.
/// The prompt is one call; the other evaluates tokens one by one.
Result<std::uint32_t> fitting_prompt(const Model& model, const SessionOptions& options,
                                     std::uint32_t most, std::chrono::nanoseconds time);
Result<std::uint32_t> fitting_decode(const Model& model, const SessionOptions& options,
                                     std::uint32_t most, std::chrono::nanoseconds time);

/// A prompt of `tokens` tokens, evaluated in one call by an empty session.
Result<StopTask> prompt_task(const Model& model, const SessionOptions& options,
                             std::uint32_t tokens);
/// An answer of at most `tokens` tokens to a story's prompt, or to some tokens where a model has no
/// story to tell.
Result<StopTask> decode_task(const Model& model, const SessionOptions& options,
                             std::uint32_t tokens);

}  // namespace tacet::cli
