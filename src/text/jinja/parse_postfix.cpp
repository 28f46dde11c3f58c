#include <algorithm>
#include <array>

#include "formats/gguf/value.hpp"
#include "text/jinja/parser.hpp"

namespace tacet::jinja {

Result<ExprId> ExpressionParser::postfix(ExprId id) {
  Result<ExprId> expr = id;
  while (expr) {
    if (at_symbol(".") || at_symbol("[")) {
      expr = subscript(*expr);
    } else if (at_symbol("(")) {
      expr = call(*expr);
    } else {
      break;
    }
  }
  return expr;
}

Result<ExprId> ExpressionParser::postfix_filters(ExprId id) {
  Result<ExprId> expr = id;
  while (expr) {
    if (at_symbol("|")) {
      expr = filters(*expr, true);
    } else if (at_name("is")) {
      expr = test(*expr);
    } else if (at_symbol("(")) {
      expr = call(*expr);
    } else {
      break;
    }
  }
  return expr;
}

Result<ExprId> ExpressionParser::subscript(ExprId object) {
  const int line = current().line;
  if (skip_symbol(".")) {
    const Token token = current();
    if (token.kind == Token::Kind::name) {
      next();
      return add(
          {.kind = Expr::Kind::attribute, .line = line, .text = token.text, .children = {object}});
    }
    if (token.kind != Token::Kind::integer) return unexpected();
    next();
    auto index = add(
        {.kind = Expr::Kind::constant, .line = line, .constant = Value::integer(token.integer)});
    if (!index) return index;
    return add({.kind = Expr::Kind::item, .line = line, .children = {object, *index}});
  }
  next();
  auto expr = subscribed(object);
  if (!expr) return expr;
  if (auto done = expect_symbol("]"); !done) return fail(std::move(done));
  return expr;
}

Result<ExprId> ExpressionParser::subscribed(ExprId object) {
  const int line = current().line;
  std::array<ExprId, 3> bounds = {kNothing, kNothing, kNothing};
  std::size_t part = 0;
  while (true) {
    if (!at_symbol(":") && !at_symbol("]") && !at_symbol(",")) {
      auto bound = expression();
      if (!bound) return bound;
      bounds[part] = *bound;
    }
    if (part == 2 || !at_symbol(":")) break;
    next();
    ++part;
  }
  if (part > 0) {
    return add({.kind = Expr::Kind::slice,
                .line = line,
                .children = {object, bounds[0], bounds[1], bounds[2]}});
  }
  if (bounds[0] == kNothing) return unexpected();
  ExprId index = bounds[0];
  if (at_symbol(",")) {
    Expr keys{.kind = Expr::Kind::tuple, .line = line, .children = {index}};
    while (skip_symbol(",") && !at_symbol("]")) {
      auto key = expression();
      if (!key) return key;
      keys.children.push_back(*key);
    }
    auto made = add(std::move(keys));
    if (!made) return made;
    index = *made;
  }
  return add({.kind = Expr::Kind::item, .line = line, .children = {object, index}});
}

Result<ExprId> ExpressionParser::call(ExprId callee) {
  Expr expr{.kind = Expr::Kind::call, .line = current().line, .children = {callee}};
  if (auto done = arguments(expr); !done) return fail(std::move(done));
  return add(std::move(expr));
}

/// A name is given once.
Result<void> ExpressionParser::check_keywords(const Expr& expr) const {
  std::vector<std::string_view> names;
  names.reserve(expr.keywords.size());
  for (const Keyword& keyword : expr.keywords) names.push_back(keyword.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return fail(Code::corrupt, "The template gives the argument {} twice at line {}; repair it.",
              quoted(*twice), current().line);
}

Result<void> ExpressionParser::arguments(Expr& expr) {
  if (auto done = expect_symbol("("); !done) return done;
  while (!at_symbol(")")) {
    if (expr.unpacked_dict != kNothing) return unexpected();
    const bool unpacks_list = expr.unpacked_list == kNothing && skip_symbol("*");
    if (unpacks_list || skip_symbol("**")) {
      auto value = expression();
      if (!value) return fail(std::move(value));
      (unpacks_list ? expr.unpacked_list : expr.unpacked_dict) = *value;
      if (!skip_symbol(",")) break;
      continue;
    }
    const bool is_keyword = at(Token::Kind::name) && is_symbol(ahead(), "=");
    const bool last = !expr.keywords.empty() || expr.unpacked_list != kNothing;
    if (!is_keyword && last) return unexpected();
    std::string keyword;
    if (is_keyword) {
      keyword = current().text;
      next();
      next();
    }
    auto value = expression();
    if (!value) return fail(std::move(value));
    if (is_keyword) {
      expr.keywords.push_back({std::move(keyword), *value});
    } else {
      expr.children.push_back(*value);
    }
    if (!skip_symbol(",")) break;
  }
  if (auto done = check_keywords(expr); !done) return done;
  return expect_symbol(")");
}

Result<ExprId> ExpressionParser::filters(ExprId input, bool first_bar) {
  Result<ExprId> expr = input;
  bool bar = first_bar;
  while (!bar || at_symbol("|")) {
    if (bar) next();
    bar = true;
    Expr filter{.kind = Expr::Kind::filter, .line = current().line, .children = {*expr}};
    auto identifier = expect_identifier();
    if (!identifier) return fail(std::move(identifier));
    filter.text = std::move(*identifier);
    if (at_symbol("(")) {
      if (auto done = arguments(filter); !done) return fail(std::move(done));
    }
    expr = add(std::move(filter));
    if (!expr) return expr;
  }
  return expr;
}

Result<ExprId> ExpressionParser::test(ExprId value) {
  Expr expr{.kind = Expr::Kind::test, .line = current().line, .children = {value}};
  next();
  const bool negated = skip_name("not");
  auto identifier = expect_identifier();
  if (!identifier) return fail(std::move(identifier));
  expr.text = std::move(*identifier);
  const bool operand = at(Token::Kind::name) || at(Token::Kind::string) ||
                       at(Token::Kind::integer) || at(Token::Kind::number) || at_symbol("[") ||
                       at_symbol("{");
  if (at_symbol("(")) {
    if (auto done = arguments(expr); !done) return fail(std::move(done));
  } else if (operand && !at_name("else") && !at_name("or") && !at_name("and")) {
    if (at_name("is")) return unexpected();
    auto argument = primary();
    if (argument) argument = postfix(*argument);
    if (!argument) return argument;
    expr.children.push_back(*argument);
  }
  auto made = add(std::move(expr));
  if (!made || !negated) return made;
  return add(
      {.kind = Expr::Kind::logical_not, .line = ast_.expression(*made).line, .children = {*made}});
}

}  // namespace tacet::jinja
