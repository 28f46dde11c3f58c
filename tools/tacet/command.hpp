#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace tacet::cli {

/// What the command line asked for; its result is the exit code. It runs after all options were
/// checked.
using Job = std::function<int()>;

/// Each adds one subcommand to `app`. If the user chose it, `job` is set. Both must outlive the
/// parsing; the job owns its options.
void add_run(CLI::App& app, Job& job);
void add_inspect(CLI::App& app, Job& job);
void add_plan(CLI::App& app, Job& job);
void add_devices(CLI::App& app, Job& job);
void add_quantize(CLI::App& app, Job& job);
void add_synth(CLI::App& app, Job& job);
void add_bench(CLI::App& app, Job& job);
void add_bench_stop(CLI::App& bench, Job& job);
void add_demo(CLI::App& app, Job& job);

}  // namespace tacet::cli
