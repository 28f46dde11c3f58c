#include "text/jinja/parser.hpp"

#include "formats/gguf/value.hpp"

namespace tacet::jinja {

bool ParserBase::skip_symbol(std::string_view text) {
  if (!at_symbol(text)) return false;
  next();
  return true;
}

bool ParserBase::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

Result<void> ParserBase::expect_symbol(std::string_view text) {
  if (skip_symbol(text)) return {};
  return unexpected();
}

Result<void> ParserBase::expect_name(std::string_view text) {
  if (skip_name(text)) return {};
  return unexpected();
}

Result<std::string> ParserBase::expect_identifier() {
  if (!at(Token::Kind::name)) return unexpected();
  std::string text = current().text;
  next();
  return text;
}

Result<void> ParserBase::expect(Token::Kind kind) {
  if (!at(kind)) return unexpected();
  next();
  return {};
}

tl::unexpected<Error> ParserBase::unexpected() const {
  const Token& token = current();
  switch (token.kind) {
    case Token::Kind::name:
    case Token::Kind::symbol:
      return fail(Code::corrupt, "The template does not expect {} at line {}.", quoted(token.text),
                  token.line);
    case Token::Kind::end:
      return fail(Code::corrupt, "The template ends too early; a tag is not closed.");
    case Token::Kind::block_end:
    case Token::Kind::variable_end:
      return fail(Code::corrupt, "The template has an incomplete tag at line {}.", token.line);
    default:
      return fail(Code::corrupt, "The template does not expect what stands at line {}.",
                  token.line);
  }
}

}  // namespace tacet::jinja
