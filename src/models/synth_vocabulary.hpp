#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf/writer.hpp"

namespace tacet {

/// Adds the metadata of a working byte-level BPE tokenizer of `size` tokens: the 256 bytes, a few
/// merges, made-up words, then from `first_special` on <|endoftext|>, <|im_start|>, <|im_end|> and
/// unused tokens; and a ChatML template.
void add_synth_vocabulary(GgufWriter& writer, std::uint32_t size, std::uint32_t first_special,
                          std::string_view pre_tokenizer);

}  // namespace tacet
