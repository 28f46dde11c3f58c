#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/jinja/ast.hpp"
#include "text/jinja/lexer.hpp"

namespace tacet::jinja {

/// Tags and expressions may be nested this deep (a pair of brackets counts twice); real templates
/// stay below 40.
inline constexpr int kMaxNesting = 128;
/// And a chain of operators may be this long.
inline constexpr int kMaxDepth = 128;

/// Reads a template's statements from tokens. The grammar is jinja2's (its parser.py), without
/// inheritance and inclusion of other templates. Fails with corrupt for what is not Jinja, with
/// unsupported for what is not known here or nested too deep; both name the line.
Result<Ast> parse(std::span<const Token> tokens);

/// The tokens that are left, and the tree that grows. Used by the two parsers.
class ParserBase {
 protected:
  ParserBase(std::span<const Token> tokens, Ast& ast) : tokens_(tokens), ast_(ast) {}

  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  void next() {
    if (position_ + 1 < tokens_.size()) ++position_;
  }
  static bool is_symbol(const Token& token, std::string_view text) {
    return token.kind == Token::Kind::symbol && token.text == text;
  }
  static bool is_name(const Token& token, std::string_view text) {
    return token.kind == Token::Kind::name && token.text == text;
  }
  bool at_symbol(std::string_view text) const { return is_symbol(current(), text); }
  bool at_name(std::string_view text) const { return is_name(current(), text); }
  bool at(Token::Kind kind) const { return current().kind == kind; }
  bool skip_symbol(std::string_view text);
  bool skip_name(std::string_view text);
  Result<void> expect_symbol(std::string_view text);
  Result<void> expect_name(std::string_view text);
  Result<std::string> expect_identifier();
  Result<void> expect(Token::Kind kind);
  tl::unexpected<Error> unexpected() const;

  std::span<const Token> tokens_;
  std::size_t position_ = 0;
  Ast& ast_;
  int nesting_ = 0;
  Extras mentioned_;  ///< names that mean something in a macro
};

/// The expressions.
class ExpressionParser : protected ParserBase {
 protected:
  using ParserBase::ParserBase;

  Result<ExprId> expression(bool with_conditional = true);
  /// One expression, or a tuple if there is a comma. `end`: a name that ends it.
  Result<ExprId> tuple(bool with_conditional, bool may_be_empty, std::string_view end = {});
  /// `| name(...)`, once or more, of `input`. `first_bar`: false where a filter block begins.
  Result<ExprId> filters(ExprId input, bool first_bar);
  Result<ExprId> primary();
  Result<ExprId> add(Expr expr);

 private:
  using Level = Result<ExprId> (ExpressionParser::*)();

  Result<ExprId> conditional();
  Result<ExprId> logical_or();
  Result<ExprId> logical_and();
  Result<ExprId> logical_not();
  Result<ExprId> compare();
  Result<ExprId> sum();
  Result<ExprId> concat();
  Result<ExprId> product();
  Result<ExprId> power();
  Result<ExprId> unary(bool with_filter);
  Result<ExprId> filtered_unary() { return unary(true); }
  Result<ExprId> list();
  Result<ExprId> dict();
  Result<ExprId> postfix(ExprId expr);
  Result<ExprId> postfix_filters(ExprId expr);
  Result<ExprId> subscript(ExprId object);
  Result<ExprId> subscribed(ExprId object);
  Result<ExprId> test(ExprId value);
  Result<ExprId> call(ExprId callee);
  Result<void> arguments(Expr& expr);
  Result<void> check_keywords(const Expr& expr) const;
  Result<ExprId> left_chain(Level operand, std::span<const std::pair<std::string_view, Operator>>);
};

}  // namespace tacet::jinja
