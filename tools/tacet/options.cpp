#include "tacet/options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/result.hpp"
#include "tacet/console.hpp"
#include "tacet/embedded_model.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"

namespace tacet::cli {
namespace {

void describe(const ModelOptions& options, const Engine& engine, const Model& model,
              std::chrono::nanoseconds time) {
  const ModelInfo& info = model.info();
  complain(fmt::format("Loaded {} in {}: {}, {} parameters, {}.", options.label(), human_time(time),
                       info.architecture, human_count(static_cast<double>(info.parameters)),
                       info.types));
  if (const Result<DeviceDescription> device = engine.device())
    complain(
        fmt::format("It runs on {}: {}. {}", device->name, device->description, info.placement));
}

constexpr std::array<std::pair<std::string_view, KvType>, 8> kKvTypes = {{{"f32", KvType::f32},
                                                                          {"f16", KvType::f16},
                                                                          {"bf16", KvType::bf16},
                                                                          {"q8_0", KvType::q8_0},
                                                                          {"q5_1", KvType::q5_1},
                                                                          {"q5_0", KvType::q5_0},
                                                                          {"q4_1", KvType::q4_1},
                                                                          {"q4_0", KvType::q4_0}}};

std::optional<KvType> kv_type(std::string_view name) {
  for (const auto& [known, type] : kKvTypes)
    if (known == name) return type;
  return std::nullopt;
}

/// "q8_0", for keys and values, or "q8_0/q4_0".
std::optional<std::pair<KvType, KvType>> kv_types(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto k = kv_type(text.substr(0, slash));
  const auto v = slash == std::string_view::npos ? k : kv_type(text.substr(slash + 1));
  if (!k || !v) return std::nullopt;
  return std::pair(*k, *v);
}

constexpr std::uint32_t kMostGpuLayers = 1'000'000;

/// "auto", "all" or a number.
std::optional<GpuLayers> gpu_layers(std::string text) {
  if (text == "auto") return GpuLayers::automatic();
  if (text == "all") return GpuLayers::all();
  if (!whole_number(0, kMostGpuLayers)(text).empty()) return std::nullopt;
  return GpuLayers::count(static_cast<std::uint32_t>(std::stoul(text)));
}

}  // namespace

std::string ModelOptions::label() const {
  return path.empty() ? "tiny-chat (embedded)" : path;
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("-m,--model", options.path, "GGUF file (default: the embedded tiny-chat)")
      ->type_name("FILE")
      ->check(path_given("name a GGUF file, or leave the option out for the embedded model"));
  command
      .add_option("--device", options.device,
                  "where it runs: cpu, cuda:0, or auto (default), the first GPU if there is one")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--gpu-layers",
          [&options](const std::string& given) { options.gpu_layers = *gpu_layers(given); },
          "the model's last N layers run on the GPU, the others on the CPU; auto (default): all "
          "that fit, or all")
      ->type_name("N")
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (gpu_layers(text)) return std::string();
            return fmt::format("'{}' is not a whole number from 0 to {}, auto or all", text,
                               kMostGpuLayers);
          },
          "", "layers"));
  command.add_option("--threads", options.threads, "threads that compute (default: one a core)")
      ->type_name("N")
      ->transform(whole_number(1, kMostThreads));
  command.add_flag("--read", options.read,
                   "copy the file into memory instead of mapping it; safe if it changes meanwhile");
  command.add_flag("-v,--verbose", options.verbose,
                   "say on standard error what was loaded, and how long that took");
}

void add_session_options(CLI::App& command, SessionOptions& options) {
  command
      .add_option("--ctx", options.context,
                  "tokens that fit (default: what the model was trained for, at most 4096)")
      ->type_name("N")
      ->transform(whole_number(1, kLargestContext));
  command
      .add_option_function<std::string>(
          "--kv",
          [&options](const std::string& given) {
            if (const auto types = kv_types(given))
              std::tie(options.k_type, options.v_type) = *types;
          },
          "how keys and values are kept: f32, f16 (default), bf16, q8_0, q5_1, q5_0, q4_1 or q4_0; "
          "or two of them as KEYS/VALUES")
      ->type_name("TYPE")
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (kv_types(text)) return std::string();
            std::string names;
            for (const auto& [name, type] : kKvTypes)
              names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
            return fmt::format("'{}' is not one of {}, or two of them as KEYS/VALUES", text, names);
          },
          "", "name"));
  command
      .add_option("--window", options.window,
                  "a token sees N tokens up to itself, older ones give up their memory (default 0: "
                  "it sees all)")
      ->type_name("N")
      ->transform(whole_number(0, kLargestWindow));
}

tl::expected<Opened, int> open_model(const ModelOptions& options) {
  const LogLevel least = options.verbose ? LogLevel::info : LogLevel::warning;
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.device = options.device;
  engine_options.log = [least](LogLevel level, std::string_view line) {
    if (level >= least) complain(line);
  };
  Result<Engine> engine = Engine::create(std::move(engine_options));
  if (!engine) return tl::unexpected(complain(engine.error()));

  const Interruptible work;
  const Clock::time_point begin = Clock::now();
  Result<Model> model = [&] {
    ProgressLine progress("loading");
    LoadOptions load;
    load.gpu_layers = options.gpu_layers;
    load.mode = options.read ? LoadMode::read : LoadMode::map;
    load.stop = work.token();
    load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return options.path.empty() ? engine->load(embedded_model(), load)
                                : engine->load(options.path, load);
  }();
  if (work.signal() != 0) return tl::unexpected(work.exit_code());
  if (!model) return tl::unexpected(complain_of_file(model.error(), options.label()));
  if (options.verbose) describe(options, *engine, *model, Clock::now() - begin);
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

CLI::Validator number(double low, double high, Lowest lowest) {
  const bool open = lowest == Lowest::excluded;
  const std::string range = open ? fmt::format("above {} and at most {}", low, high)
                                 : fmt::format("from {} to {}", low, high);
  return CLI::Validator(
      [low, high, open, range](std::string& text) {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec == std::errc() && read.ptr == end && value >= low && value <= high &&
            !(open && value == low))
          return std::string();
        return fmt::format("'{}' is not a number {}", text, range);
      },
      "", "number");
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec != std::errc() || read.ptr != end || value < low || value > high)
          return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
        text = std::to_string(value);
        return std::string();
      },
      "", "whole number");
}

CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names = std::move(names)](std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        return fmt::format("'{}' is not one of {}", text, fmt::join(names, ", "));
      },
      "", "name");
}

CLI::Validator path_given(std::string remedy) {
  return CLI::Validator(
      [remedy = std::move(remedy)](std::string& text) {
        return text.empty() ? "The path is empty; " + remedy : std::string();
      },
      "", "path");
}

}  // namespace tacet::cli
