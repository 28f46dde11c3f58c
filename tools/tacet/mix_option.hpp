#pragma once

#include <CLI/CLI.hpp>

namespace tacet::cli {

/// A check of an option's value: the name of a mix (models/mix.hpp), in any case.
CLI::Validator mix_name();
/// Their names, for help texts.
std::string mix_names();

}  // namespace tacet::cli
