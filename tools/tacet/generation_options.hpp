#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "tacet/session.hpp"

namespace tacet::cli {

/// How an answer is generated, as the command line says it.
struct GenerationFlags {
  GenerateOptions generate;
  std::optional<std::chrono::nanoseconds> deadline;
};
/// --temp, --top-k, --top-p, --min-p, --repeat-penalty, --seed.
void add_sampler_options(CLI::App& command, SamplerOptions& sampler);
/// -n, --temp, --top-k, --top-p, --min-p, --repeat-penalty, --seed, --stop, --shift, --deadline.
void add_generation_options(CLI::App& command, GenerationFlags& flags);

}  // namespace tacet::cli
