#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "models/quantize_file.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"
#include "tacet/mix_option.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {
namespace {

struct QuantizeFlags {
  std::string in;
  std::string out;
  std::string type;
  unsigned threads = 0;
  bool again = false;
  bool json = false;
};

std::string to_text(const QuantizeFlags& flags, const QuantizeReport& report) {
  std::string text =
      fmt::format("{}: {}, {} (of {}), {} tensors converted", flags.out, flags.type,
                  human_bytes(static_cast<double>(report.output_bytes)),
                  human_bytes(static_cast<double>(report.input_bytes)), report.converted);
  if (report.substituted != 0)
    text += fmt::format(", {} of them to types with smaller blocks, which their rows need",
                        report.substituted);
  return text + "\n";
}

int quantize_model(const QuantizeFlags& flags) {
  const Result<const Mix*> mix = mix_from_name(flags.type);
  if (!mix) return complain(mix.error());
  const Interruptible work;
  const Result<QuantizeReport> report = [&] {
    ProgressLine progress("quantizing");
    QuantizeOptions options;
    options.again = flags.again;
    options.threads = flags.threads;
    options.stop = work.token();
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return quantize_file(flags.in, flags.out, **mix, options);
  }();
  if (!report && work.signal() != 0) return work.exit_code();
  if (!report) return complain_of_file(report.error(), flags.in);
  if (!flags.json) return print(to_text(flags, *report));
  std::error_code error;
  return print_json({{"file", flags.out},
                     {"input", flags.in},
                     {"type", flags.type},
                     {"bytes", std::filesystem::file_size(flags.out, error)},
                     {"tensor_bytes", report->output_bytes},
                     {"input_tensor_bytes", report->input_bytes},
                     {"converted", report->converted},
                     {"substituted", report->substituted}});
}

}  // namespace

void add_quantize(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("quantize", "Write a GGUF file with fewer bits a weight");
  auto flags = std::make_shared<QuantizeFlags>();
  command->add_option("IN", flags->in, "a GGUF file with f16, bf16 or f32 weights")
      ->required()
      ->check(path_given("name a GGUF file"));
  command->add_option("OUT", flags->out, "the file to write; another than IN")
      ->required()
      ->check(path_given("name the file to write"));
  command->add_option("TYPE", flags->type, mix_names())->required()->transform(mix_name());
  command->add_flag("--requantize", flags->again,
                    "allow weights that are quantized already; the errors add up");
  command->add_option("--threads", flags->threads, "threads that compute (default: one a core)")
      ->type_name("N")
      ->transform(whole_number(1, kMostThreads));
  command->add_flag("--json", flags->json, "print one JSON object");
  command->footer(
      "Each tensor gets the type that llama.cpp gives it; norms and other vectors stay as they "
      "are.\n"
      "OUT appears when it is complete. Ctrl-C stops the work; no file is left then.\n\n"
      "Example:\n  tacet quantize tiny-chat-f16.gguf tiny-chat-Q4_K_M.gguf Q4_K_M");
  command->callback([&job, flags] { job = [flags] { return quantize_model(*flags); }; });
}

}  // namespace tacet::cli
