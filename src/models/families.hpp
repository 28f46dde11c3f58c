#pragma once

#include "models/architecture.hpp"

namespace tacet::models {

extern const Architecture llama;
extern const Architecture qwen2;
extern const Architecture qwen3;

}  // namespace tacet::models
