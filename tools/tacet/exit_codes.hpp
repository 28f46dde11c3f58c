#pragma once

namespace tacet::cli {

// Exit codes; `tacet --help` and the README name them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;    ///< a file, the context, memory: the message says what to do
inline constexpr int kUsage = 2;     ///< the command line or the prompt makes no sense
inline constexpr int kDeadline = 3;  ///< stopped by --deadline
/// Ended by a signal, or by a reader of the output that left (SIGPIPE): 129, 130, 143, 141.
inline constexpr int kSignalBase = 128;

}  // namespace tacet::cli
