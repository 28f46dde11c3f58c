#include "text/tokenizer_model.hpp"

#include "formats/gguf/value.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/character_bpe.hpp"
#include "text/score_bpe.hpp"
#include "text/unigram.hpp"
#include "text/word_piece.hpp"

namespace tacet {
namespace {

template <typename Model>
Result<std::unique_ptr<const TokenizerModel>> made(Result<Model> model) {
  if (!model) return fail(std::move(model));
  return std::make_unique<const Model>(std::move(*model));
}

}  // namespace

Result<std::unique_ptr<const TokenizerModel>> make_tokenizer_model(
    const VocabularyData& data, std::shared_ptr<const TokenTable> tokens) {
  if (data.model == "gpt2") return made(ByteLevelBpe::build(data, std::move(tokens)));
  if (data.model == "gemma4") return made(CharacterBpe::build(data, std::move(tokens)));
  if (data.model == "llama") return made(ScoreBpe::build(data, std::move(tokens)));
  if (data.model == "t5") return made(Unigram::build(data, std::move(tokens)));
  if (data.model == "bert") return made(WordPiece::build(data, std::move(tokens)));
  return fail(Code::unsupported,
              "The tokenizer model {} is not known; use a model with gpt2 (byte-level BPE), gemma4 "
              "(BPE of characters), llama (SentencePiece BPE), t5 (Unigram) or bert (WordPiece).",
              quoted(data.model));
}

}  // namespace tacet
