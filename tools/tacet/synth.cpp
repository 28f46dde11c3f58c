#include "models/synth.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>

#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"
#include "tacet/mix_option.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {
namespace {

struct SynthFlags {
  std::string shape;
  std::string type;
  std::string out;
  std::uint64_t seed = 1;
  bool json = false;
};

int write_model(const SynthFlags& flags) {
  const Interruptible work;
  Result<void> written = [&] {
    ProgressLine progress("writing");
    SynthOptions options;
    options.seed = flags.seed;
    options.stop = work.token();
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return synth(flags.shape, flags.type, flags.out, options);
  }();
  if (!written && work.signal() != 0) return work.exit_code();
  if (!written) return complain_of_file(written.error(), flags.out);
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(flags.out, error);
  if (flags.json)
    return print_json({{"file", flags.out},
                       {"shape", flags.shape},
                       {"type", flags.type},
                       {"seed", flags.seed},
                       {"bytes", bytes}});
  return print(fmt::format("{}: {} {}, {}\n", flags.out, flags.shape, flags.type,
                           human_bytes(static_cast<double>(bytes))));
}

}  // namespace

void add_synth(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("synth", "Write a GGUF of a real model's shape with random weights");
  auto flags = std::make_shared<SynthFlags>();
  std::vector<std::string> names;
  for (const SynthShape& shape : synth_shapes()) names.emplace_back(shape.name);
  command->add_option("SHAPE", flags->shape, fmt::format("{}", fmt::join(names, ", ")))
      ->required()
      ->check(one_of(names));
  command->add_option("TYPE", flags->type, mix_names())->required()->transform(mix_name());
  command->add_option("OUT", flags->out, "the file to write")
      ->required()
      ->check(path_given("name the file to write"));
  command->add_option("--seed", flags->seed, "the same seed gives the same file (default 1)")
      ->type_name("N")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  command->add_flag("--json", flags->json, "print one JSON object");
  command->footer(
      "The model is as fast as the real one and says nonsense. Ctrl-C stops the work; "
      "no file is left then.\n\n"
      "Example:\n  tacet synth qwen2-0.5b q8_0 qwen2-0.5b.gguf");
  command->callback([&job, flags] { job = [flags] { return write_model(*flags); }; });
}

}  // namespace tacet::cli
