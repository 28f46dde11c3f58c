#include "tacet/console.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/result.hpp"
#include "tacet/exit_codes.hpp"

namespace tacet::cli {
namespace {

/// How long a stop may wait to be seen while a reader is behind.
constexpr int kLookMilliseconds = 10;
constexpr std::size_t kLongestSentence = 1000;

/// Whether `fd` is ready within `milliseconds` (-1: whenever that is). What is wrong with it counts
/// as ready: the call on it says more.
bool ready(int fd, short events, int milliseconds) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, milliseconds) > 0;
}

/// 0, or the errno of the first write that failed.
int write_all(int fd, std::string_view text, const StopToken& stop = {}) {
  while (!text.empty()) {
    const bool stopped = stop.stop_requested();
    if (!ready(fd, POLLOUT, stopped ? 0 : stop.possible() ? kLookMilliseconds : -1)) {
      if (stopped) return 0;
      continue;
    }
    // A pipe that is ready takes so much without blocking.
    const ssize_t written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// `line` without its middle if it is long, cut between characters.
std::string shortened(std::string line) {
  if (line.size() <= kLongestSentence) return line;
  const auto inside = [&](std::size_t i) { return (line[i] & 0xC0) == 0x80; };
  std::size_t from = kLongestSentence / 2;
  while (from > 0 && inside(from)) --from;
  std::size_t to = line.size() - kLongestSentence / 2;
  while (to < line.size() && inside(to)) ++to;
  return line.replace(from, to - from, " ... ");
}

/// The width of `text` on a terminal, counting a character as one column.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string scaled(double value, std::string_view unit, std::string_view plain) {
  constexpr std::string_view prefixes = "kMGTP";
  if (value < 1000) return fmt::format("{:.0f}{}{}", value, plain.empty() ? "" : " ", plain);
  std::size_t prefix = 0;
  for (value /= 1000; value >= 999.95 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000;
  return fmt::format("{:.1f} {}{}", value, prefixes[prefix], unit);
}

}  // namespace

int print(std::string_view text, const StopToken& stop) {
  const int error = write_all(STDOUT_FILENO, text, stop);
  if (error == 0) return 0;
  if (error == EPIPE) return kSignalBase + SIGPIPE;
  complain(fmt::format("Standard output can not be written ({}); send it somewhere else.",
                       std::strerror(error)));
  return kFailed;
}

int print_json(const Json& value) {
  return print(value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<std::size_t> read_input(char* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, to, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    const int error = errno;
    if (error == EAGAIN) ready(STDIN_FILENO, POLLIN, -1);
    if (error != EAGAIN && error != EINTR)
      return fail(Code::io, "Standard input can not be read ({}); give the prompt as an argument.",
                  std::strerror(error));
  }
}

void complain(std::string_view sentence) {
  std::string line = shortened(fmt::format("tacet: {}", sentence));
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  write_all(STDERR_FILENO, line);
}

int complain(const Error& error) {
  complain(error.message());
  return error.code() == Code::invalid_argument ? kUsage : kFailed;
}

int complain_of_file(const Error& error, std::string_view file) {
  const bool named = error.message().find(file) != std::string_view::npos;
  complain(named ? std::string(error.message()) : fmt::format("{}: {}", file, error.message()));
  return kFailed;
}

void note(std::string_view text, const StopToken& stop) {
  write_all(STDERR_FILENO, text, stop);
}

std::string human_bytes(double bytes) {
  return scaled(bytes, "B", "bytes");
}
std::string human_count(double count) {
  return scaled(count, "", "");
}

std::string human_time(std::chrono::nanoseconds time) {
  const double us = microseconds(time);
  if (us < 999.5) return fmt::format("{:.0f} us", us);
  if (us < 999'500) return fmt::format("{:.2f} ms", us / 1e3);
  return fmt::format("{:.2f} s", us / 1e6);
}

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

Table::Table(std::vector<std::string> header) {
  for (std::string& name : header) {
    right_.push_back(name.starts_with('>'));
    if (right_.back()) name.erase(0, 1);
  }
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  row.resize(right_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns(row[i]), ' ');
      if (i != 0) line += "  ";
      line += right_[i] ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) write_all(STDERR_FILENO, "\r\x1b[K");
}

void ProgressLine::show(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || total == 0 || now < next_) return;
  next_ = now + std::chrono::milliseconds(50);
  shown_ = true;
  constexpr std::size_t width = 30;
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto full = static_cast<std::size_t>(part * width);
  write_all(STDERR_FILENO, fmt::format("\r{} [{}{}] {:3.0f}%\x1b[K", label_, std::string(full, '#'),
                                       std::string(width - full, '.'), part * 100));
}

}  // namespace tacet::cli
