#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/error.hpp"
#include "tacet/stop.hpp"

namespace tacet::cli {

using Json = nlohmann::ordered_json;

/// Writes `text` to standard output at once, and waits for a reader that is behind. Once `stop` has
/// fired nobody is waited for: what can not be written then is dropped. 0, or the exit code: 141
/// (silently) if nobody reads it any more, kFailed (with a message) if it can not be written.
[[nodiscard]] int print(std::string_view text, const StopToken& stop = {});
/// The same for a JSON value; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] int print_json(const Json& value);

/// Reads what standard input has, at most `size` bytes, waiting for the first. 0 at its end.
/// Errors: io.
Result<std::size_t> read_input(char* to, std::size_t size);

/// Writes "tacet: ..." as one line to standard error. Long ones lose their middle.
void complain(std::string_view sentence);
/// The same for an Error, and the exit code for it: kUsage for invalid_argument, else kFailed.
int complain(const Error& error);
/// The same for an error of a file, whose name is put in front if the sentence lacks it; kFailed.
int complain_of_file(const Error& error, std::string_view file);

/// Writes `text` to standard error as it is; once `stop` has fired, without waiting for a reader.
void note(std::string_view text, const StopToken& stop = {});

/// "3.4 MB", "512 bytes".
std::string human_bytes(double bytes);
/// "3.4 M", with SI prefixes.
std::string human_count(double count);
/// "18 us", "2.31 ms", "1.20 s".
std::string human_time(std::chrono::nanoseconds time);
/// A number of microseconds for JSON.
double microseconds(std::chrono::nanoseconds time);

/// Rows of text in aligned columns: the first column to the left, the others as `right` says.
class Table {
 public:
  /// `header` gives the number of columns. A '>' at the start of a name aligns its column to the
  /// right.
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

/// One line on standard error that is rewritten as work goes on, and wiped at the end; silent if
/// standard error is not a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows a bar with the percentage; at most twenty times a second.
  void show(std::uint64_t done, std::uint64_t total);

 private:
  std::string label_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tacet::cli
