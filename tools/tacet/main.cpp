#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"

namespace tacet::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failed, the message says what to do; 2 the command line or the prompt\n"
    "makes no sense; 3 stopped by --deadline; 129, 130, 143 a signal (SIGHUP,\n"
    "Ctrl-C, SIGTERM); 141 nobody reads the output.\n"
    "\n"
    "Example:\n  tacet run \"What is 17 + 25?\"\n  tacet run --help";

std::string first_sentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// The words of the deepest subcommand that was named, for "tacet bench stop --help".
std::string command_name(const CLI::App& app) {
  std::string words = "tacet";
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return words;
}

/// What is wrong with an option that the parser would take for something else: it reads "--opt=" as
/// "--opt" and the next word, and "-n=5" as the value "=5". Empty if nothing is.
std::string misread(std::span<char* const> words) {
  for (const std::string_view word : words) {
    if (word == "--") break;
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) continue;
    if (word.starts_with("--") && sign + 1 == word.size())
      return fmt::format("'{}' has no value; for an empty one write {} \"\"", word,
                         word.substr(0, sign));
    if (word.starts_with('-') && sign == 2)
      return fmt::format("'{}' has one dash; write {} {}", word, word.substr(0, sign),
                         word.substr(sign + 1));
  }
  return {};
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Runs language models on this machine; work in flight stops on cue.", "tacet");
  app.set_version_flag("--version", "tacet " TACET_VERSION);
  app.footer(kFooter);
  Job job;
  add_run(app, job);
  add_inspect(app, job);
  add_plan(app, job);
  add_devices(app, job);
  add_quantize(app, job);
  add_synth(app, job);
  add_bench(app, job);
  add_demo(app, job);

  if (argc < 2) {
    complain(
        "Say what to do, such as: tacet run \"What is 17 + 25?\"; tacet --help lists all "
        "commands.");
    return kUsage;
  }
  const std::string_view first = argv[1];
  const auto named = [first](const CLI::App* command) { return command->get_name() == first; };
  if (!first.starts_with('-') && app.get_subcommands(named).empty()) {
    complain(fmt::format("There is no command '{}'; tacet --help lists all commands.", first));
    return kUsage;
  }
  if (const std::string wrong = misread(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
      !wrong.empty()) {
    complain(wrong + ".");
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    complain(fmt::format("{}; {} --help shows what is possible.", first_sentence(error.what()),
                         command_name(app)));
    return kUsage;
  }
  if (job) return job();
  complain("Say what to do; tacet --help lists all commands.");
  return kUsage;
}

}  // namespace
}  // namespace tacet::cli

int main(int argc, char** argv) {
  using namespace tacet::cli;
  try {
    install_interrupts();
    return parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    complain("Out of memory on the host; free some, or use a smaller context or model.");
  } catch (const std::exception& error) {
    complain(fmt::format("This is a defect in tacet, please report it: {}.", error.what()));
  }
  return kFailed;
}
