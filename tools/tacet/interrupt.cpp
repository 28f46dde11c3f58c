#include "tacet/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

#include "tacet/exit_codes.hpp"

namespace tacet::cli {
namespace {

// A signal handler takes no argument of ours, so this state belongs to the process.
volatile unsigned char stop_byte = 0;
std::atomic<bool> in_flight = false;
std::atomic<Clock::rep> arrived = 0;
bool terminal = false;
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<Clock::rep>::is_always_lock_free);

void on_signal(int signal) {
  if (!in_flight.load() || stop_byte != 0) {
    // The terminal shows ^C in the line of the prompt.
    const ssize_t written = terminal ? ::write(STDERR_FILENO, "\n", 1) : 0;
    static_cast<void>(written);
    ::_exit(kSignalBase + signal);
  }
  arrived.store(Clock::now().time_since_epoch().count());
  stop_byte = static_cast<unsigned char>(signal);
}

/// A page of a mapped file that is not there any more. Whatever else raises SIGBUS is a defect, and
/// ends the process as it would without us.
void on_lost_page(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {
    ::signal(signal, SIG_DFL);
    return;
  }
  constexpr std::string_view message =
      "tacet: A file was cut short, or its disk failed, while it was in use; start again, with "
      "--read if the file changes meanwhile.\n";
  const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  static_cast<void>(written);
  ::_exit(kFailed);
}

void take_over(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_interrupts() {
  terminal = ::isatty(STDERR_FILENO) == 1;
  take_over(SIGINT, on_signal);
  take_over(SIGTERM, on_signal);
  take_over(SIGHUP, on_signal);
  take_over(SIGPIPE, SIG_IGN);
  take_over(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

Interruptible::Interruptible() noexcept {
  stop_byte = 0;
  in_flight.store(true);
}

Interruptible::~Interruptible() {
  in_flight.store(false);
}

StopToken Interruptible::token() const {
  return StopToken::byte(&stop_byte);
}
int Interruptible::signal() const noexcept {
  return stop_byte;
}
int Interruptible::exit_code() const noexcept {
  return stop_byte == 0 ? 0 : kSignalBase + stop_byte;
}
Clock::time_point Interruptible::when() const noexcept {
  return Clock::time_point(Clock::duration(arrived.load()));
}

}  // namespace tacet::cli
