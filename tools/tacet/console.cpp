#include "tacet/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tacet/exit_codes.hpp"

namespace tacet::cli {
namespace {

/// 0, or the errno of the first write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
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

int print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return 0;
  if (error == EPIPE) return kSignalBase + SIGPIPE;
  complain(fmt::format("Standard output can not be written ({}); send it somewhere else.",
                       std::strerror(error)));
  return kFailed;
}

int print_json(const Json& value) {
  return print(value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void complain(std::string_view sentence) {
  std::string line = fmt::format("tacet: {}", sentence);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  write_all(STDERR_FILENO, line);
}

int complain(const Error& error) {
  complain(error.message());
  return kFailed;
}

void note(std::string_view text) {
  write_all(STDERR_FILENO, text);
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
