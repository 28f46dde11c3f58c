#include "tacet/options.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/result.hpp"
#include "tacet/console.hpp"
#include "tacet/embedded_model.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"

namespace tacet::cli {

std::string ModelOptions::label() const {
  return path.empty() ? "tiny-chat (embedded)" : path;
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("-m,--model", options.path, "GGUF file (default: the embedded tiny-chat)")
      ->type_name("FILE");
  command.add_option("--threads", options.threads, "threads that compute (default: one a core)")
      ->type_name("N")
      ->check(in_range(1, 1024));
  command.add_flag("--read", options.read,
                   "copy the file into memory instead of mapping it; safe if it changes meanwhile");
  command.add_flag("-v,--verbose", options.verbose, "say more on standard error");
}

void add_session_options(CLI::App& command, SessionOptions& options) {
  command
      .add_option("--ctx", options.context,
                  "tokens that fit (default: what the model was trained for, at most 4096)")
      ->type_name("N")
      ->check(in_range(1, std::numeric_limits<std::int32_t>::max()));
  const std::map<std::string, KvType> types = {
      {"f32", KvType::f32}, {"f16", KvType::f16}, {"q8_0", KvType::q8_0}};
  command
      .add_option_function<std::string>(
          "--kv",
          [types, &options](const std::string& type) {
            options.k_type = options.v_type = types.at(type);
          },
          "how keys and values are kept: f32, f16 or q8_0 (default: f16)")
      ->type_name("TYPE")
      ->check(CLI::IsMember(types));
}

tl::expected<Opened, int> open_model(const ModelOptions& options) {
  const LogLevel least = options.verbose ? LogLevel::info : LogLevel::warning;
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.log = [least](LogLevel level, std::string_view line) {
    if (level >= least) complain(line);
  };
  Result<Engine> engine = Engine::create(std::move(engine_options));
  if (!engine) return tl::unexpected(complain(engine.error()));

  const Interruptible work;
  Result<Model> model = [&] {
    ProgressLine progress("loading");
    LoadOptions load;
    load.mode = options.read ? LoadMode::read : LoadMode::map;
    load.stop = work.token();
    load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return options.path.empty() ? engine->load(embedded_model(), load)
                                : engine->load(options.path, load);
  }();
  if (work.signal() != 0) return tl::unexpected(work.exit_code());
  if (!model) return tl::unexpected(complain(model.error()));
  return Opened{std::move(*engine), std::move(*model)};
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const bool number = !copy.empty() && copy[0] >= '0' && copy[0] <= '9' &&
                      copy.find_first_of("xX") == std::string::npos;
  const double value = number ? std::strtod(copy.c_str(), &end) : 0;
  const std::string_view unit = number ? std::string_view(end) : std::string_view();
  const std::map<std::string_view, double> units = {
      {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}};
  const auto found = units.find(unit);
  if (found == units.end())
    return fail(
        Code::invalid_argument,
        "'{}' is not a length of time; write a number with us, ms, s or min, such as 200ms.", text);
  const double nanoseconds = value * found->second;
  if (!(nanoseconds <= 3.2e18))
    return fail(Code::invalid_argument, "'{}' is longer than 100 years; give less.", text);
  return std::chrono::nanoseconds(std::llround(nanoseconds));
}

CLI::Validator in_range(double low, double high) {
  const std::string range = fmt::format("from {} to {}", low, high);
  return CLI::Validator(
      [low, high, range](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (!text.empty() && *end == '\0' && value >= low && value <= high) return std::string();
        return fmt::format("'{}' is not a number {}", text, range);
      },
      "", "range");
}

}  // namespace tacet::cli
