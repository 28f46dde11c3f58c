#include "tacet/generation_options.hpp"

#include <limits>
#include <string>

#include "tacet/options.hpp"

namespace tacet::cli {

void add_sampler_options(CLI::App& command, SamplerOptions& sampler) {
  command.add_option("--temp", sampler.temperature, "0 (default): always the most likely token")
      ->type_name("T")
      ->check(number(0, 1000));
  command.add_option("--top-k", sampler.top_k, "keep the K most likely tokens (default 0: all)")
      ->type_name("K")
      ->transform(whole_number(0, kMostTokens));
  command.add_option("--top-p", sampler.top_p, "keep the tokens that make up P (default 1: all)")
      ->type_name("P")
      ->check(number(0, 1, Lowest::excluded));
  command
      .add_option("--min-p", sampler.min_p,
                  "keep tokens at least P times as likely as the best (default 0: all)")
      ->type_name("P")
      ->check(number(0, 1));
  command
      .add_option("--repeat-penalty", sampler.repeat_penalty,
                  "makes recent tokens less likely (default 1: not)")
      ->type_name("R")
      ->check(number(0.01, 100));
  command
      .add_option_function<std::uint64_t>(
          "--seed", [&sampler](std::uint64_t seed) { sampler.seed = seed; },
          "start of the random numbers, for the same answer each time")
      ->type_name("N")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
}

void add_generation_options(CLI::App& command, GenerationFlags& flags) {
  GenerateOptions& generate = flags.generate;
  command
      .add_option("-n,--max-tokens", generate.max_tokens,
                  "tokens in the answer (default 0: until the model ends it)")
      ->type_name("N")
      ->transform(whole_number(0, kMostTokens));
  add_sampler_options(command, generate.sampler);
  command.add_option("--stop", generate.stop, "end the answer before this text; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option_function<std::uint32_t>(
          "--shift", [&generate](std::uint32_t keep) { generate.shift = ContextShift{keep}; },
          "when the context is full, forget the older half behind the first KEEP tokens and go on")
      ->type_name("KEEP")
      ->transform(whole_number(0, kLargestContext));
  command
      .add_option_function<std::string>(
          "--deadline",
          [&flags](const std::string& text) { flags.deadline = parse_duration(text).value(); },
          "stop an answer after this long, counted from its start: 200us, 200ms, 2s, 1min")
      ->type_name("TIME")
      ->check(CLI::Validator(
          [](std::string& text) {
            const auto time = parse_duration(text);
            return time ? std::string() : std::string(time.error().message());
          },
          "", "duration"));
}

}  // namespace tacet::cli
