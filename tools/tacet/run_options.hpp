#pragma once

#include <string>

#include "tacet/conversation.hpp"
#include "tacet/generation_options.hpp"
#include "tacet/interrupt.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {

struct RunOptions {
  ModelOptions model;
  SessionOptions session;
  GenerationFlags generation;
  std::string system;
  std::string file;  ///< where the conversation is kept between runs; empty: nowhere
  bool raw = false;
  bool json = false;
};

/// What stops an answer that begins now: a signal, or the deadline.
StopToken answer_token(const Interruptible& work, const GenerationFlags& flags);

/// Makes the times of an outcome that a signal caused begin at the signal: the run counts from when
/// it saw the signal's byte.
void count_from_signal(Outcome& outcome, const Interruptible& work, Clock::time_point returned);

/// "[stopped: requested, 18 us]": why, and how long from the request to the return.
void note_stop(const Outcome& outcome);

/// The error of a failed answer; a full context names the options that help.
Error said_here(const Answer& answer, const Session& session);

/// The conversation that `options` ask for: a new one, or the one of their file.
Result<Conversation> open_conversation(const Model& model, const RunOptions& options,
                                       const StopToken& stop);
/// Keeps a conversation in the file of `options`, if they have one. Returns `code`, or that of an
/// error.
int keep(Conversation& conversation, const RunOptions& options, int code);

/// A conversation on the terminal, until /exit or the end of the input. Returns the exit code.
int chat(const Model& model, const RunOptions& options);

}  // namespace tacet::cli
