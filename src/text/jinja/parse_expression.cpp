#include <algorithm>
#include <array>

#include "text/jinja/parser.hpp"

namespace tacet::jinja {
namespace {

using Named = std::pair<std::string_view, Operator>;

constexpr std::array<Named, 6> kComparisons = {{{"==", Operator::equal},
                                                {"!=", Operator::not_equal},
                                                {"<", Operator::less},
                                                {"<=", Operator::less_equal},
                                                {">", Operator::greater},
                                                {">=", Operator::greater_equal}}};
constexpr std::array<Named, 2> kSums = {{{"+", Operator::add}, {"-", Operator::subtract}}};
constexpr std::array<Named, 4> kProducts = {{{"*", Operator::multiply},
                                             {"/", Operator::divide},
                                             {"//", Operator::floor_divide},
                                             {"%", Operator::modulo}}};
constexpr std::array<Named, 1> kPowers = {{{"**", Operator::power}}};

/// Counts how deep the parser is in itself.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool too_deep() const { return depth_ > kMaxNesting; }

 private:
  int& depth_;
};

}  // namespace

Result<ExprId> ExpressionParser::add(Expr expr) {
  const auto count = [&](ExprId child) {
    if (child != kNothing) expr.depth = std::max(expr.depth, ast_.expression(child).depth + 1);
  };
  for (const ExprId child : expr.children) count(child);
  for (const Keyword& keyword : expr.keywords) count(keyword.value);
  count(expr.unpacked_list);
  count(expr.unpacked_dict);
  if (expr.depth > kMaxDepth) {
    return fail(Code::unsupported,
                "The template has an expression at line {} that is more than {} operations deep.",
                expr.line, kMaxDepth);
  }
  ast_.expressions.push_back(std::move(expr));
  return static_cast<ExprId>(ast_.expressions.size() - 1);
}

Result<ExprId> ExpressionParser::expression(bool with_conditional) {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) {
    return fail(Code::unsupported, "The template is nested more than {} deep at line {}.",
                kMaxNesting, current().line);
  }
  return with_conditional ? conditional() : logical_or();
}

Result<ExprId> ExpressionParser::conditional() {
  auto expr = logical_or();
  while (expr && at_name("if")) {
    const int line = current().line;
    next();
    auto condition = logical_or();
    if (!condition) return condition;
    ExprId otherwise = kNothing;
    if (skip_name("else")) {
      auto parsed = expression();
      if (!parsed) return parsed;
      otherwise = *parsed;
    }
    expr = add({.kind = Expr::Kind::conditional,
                .line = line,
                .children = {*condition, *expr, otherwise}});
  }
  return expr;
}

Result<ExprId> ExpressionParser::logical_or() {
  auto left = logical_and();
  while (left && at_name("or")) {
    const int line = current().line;
    next();
    auto right = logical_and();
    if (!right) return right;
    left = add({.kind = Expr::Kind::logical_or, .line = line, .children = {*left, *right}});
  }
  return left;
}

Result<ExprId> ExpressionParser::logical_and() {
  auto left = logical_not();
  while (left && at_name("and")) {
    const int line = current().line;
    next();
    auto right = logical_not();
    if (!right) return right;
    left = add({.kind = Expr::Kind::logical_and, .line = line, .children = {*left, *right}});
  }
  return left;
}

Result<ExprId> ExpressionParser::logical_not() {
  int count = 0;
  const int line = current().line;
  while (skip_name("not")) ++count;
  auto expr = compare();
  for (; expr && count > 0; --count) {
    expr = add({.kind = Expr::Kind::logical_not, .line = line, .children = {*expr}});
  }
  return expr;
}

Result<ExprId> ExpressionParser::compare() {
  auto first = sum();
  if (!first) return first;
  Expr chain{.kind = Expr::Kind::compare, .line = current().line, .children = {*first}};
  while (true) {
    const auto known =
        std::find_if(kComparisons.begin(), kComparisons.end(),
                     [&](const Named& comparison) { return at_symbol(comparison.first); });
    if (known != kComparisons.end()) {
      chain.operators.push_back(known->second);
      next();
    } else if (skip_name("in")) {
      chain.operators.push_back(Operator::in);
    } else if (at_name("not") && is_name(ahead(), "in")) {
      chain.operators.push_back(Operator::not_in);
      next();
      next();
    } else {
      break;
    }
    auto operand = sum();
    if (!operand) return operand;
    chain.children.push_back(*operand);
  }
  return chain.operators.empty() ? first : add(std::move(chain));
}

Result<ExprId> ExpressionParser::left_chain(Level operand, std::span<const Named> known) {
  auto left = (this->*operand)();
  while (left) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const Named& candidate) {
      return at_symbol(candidate.first);
    });
    if (found == known.end()) break;
    const int line = current().line;
    next();
    auto right = (this->*operand)();
    if (!right) return right;
    left = add({.kind = Expr::Kind::binary,
                .line = line,
                .children = {*left, *right},
                .operators = {found->second}});
  }
  return left;
}

Result<ExprId> ExpressionParser::sum() {
  return left_chain(&ExpressionParser::concat, kSums);
}
Result<ExprId> ExpressionParser::product() {
  return left_chain(&ExpressionParser::power, kProducts);
}
Result<ExprId> ExpressionParser::power() {
  return left_chain(&ExpressionParser::filtered_unary, kPowers);
}

Result<ExprId> ExpressionParser::concat() {
  auto first = product();
  if (!first || !at_symbol("~")) return first;
  Expr chain{.kind = Expr::Kind::concat, .line = current().line, .children = {*first}};
  while (skip_symbol("~")) {
    auto part = product();
    if (!part) return part;
    chain.children.push_back(*part);
  }
  return add(std::move(chain));
}

Result<ExprId> ExpressionParser::unary(bool with_filter) {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) {
    return fail(Code::unsupported, "The template is nested more than {} deep at line {}.",
                kMaxNesting, current().line);
  }
  const int line = current().line;
  const bool minus = at_symbol("-");
  Result<ExprId> expr = kNothing;
  if (minus || at_symbol("+")) {
    next();
    expr = unary(false);
    if (!expr) return expr;
    expr = add(
        {.kind = minus ? Expr::Kind::negate : Expr::Kind::plus, .line = line, .children = {*expr}});
  } else {
    expr = primary();
  }
  if (expr) expr = postfix(*expr);
  if (expr && with_filter) expr = postfix_filters(*expr);
  return expr;
}

Result<ExprId> ExpressionParser::primary() {
  const Token token = current();
  Expr expr{.kind = Expr::Kind::constant, .line = token.line};
  switch (token.kind) {
    case Token::Kind::name:
      next();
      if (token.text == "true" || token.text == "True") {
        expr.constant = Value::boolean(true);
      } else if (token.text == "false" || token.text == "False") {
        expr.constant = Value::boolean(false);
      } else if (token.text == "none" || token.text == "None") {
        expr.constant = Value::none();
      } else {
        expr.kind = Expr::Kind::name;
        expr.text = token.text;
        mentioned_.caller = mentioned_.caller || token.text == "caller";
        mentioned_.names = mentioned_.names || token.text == "kwargs";
        mentioned_.positions = mentioned_.positions || token.text == "varargs";
      }
      return add(std::move(expr));
    case Token::Kind::string: {
      std::string text;
      for (; at(Token::Kind::string); next()) text += current().text;
      expr.constant = Value::string(std::move(text));
      return add(std::move(expr));
    }
    case Token::Kind::integer:
      next();
      expr.constant = Value::integer(token.integer);
      return add(std::move(expr));
    case Token::Kind::number:
      next();
      expr.constant = Value::number(token.number);
      return add(std::move(expr));
    default:
      break;
  }
  if (skip_symbol("(")) {
    auto inner = tuple(true, true);
    if (!inner) return inner;
    if (auto done = expect_symbol(")"); !done) return fail(std::move(done));
    return inner;
  }
  if (at_symbol("[")) return list();
  if (at_symbol("{")) return dict();
  return unexpected();
}

Result<ExprId> ExpressionParser::tuple(bool with_conditional, bool may_be_empty,
                                       std::string_view end) {
  Expr expr{.kind = Expr::Kind::tuple, .line = current().line};
  bool is_tuple = false;
  while (true) {
    const bool ended = at(Token::Kind::variable_end) || at(Token::Kind::block_end) ||
                       at_symbol(")") || (!end.empty() && at_name(end));
    if (ended) break;
    auto item = expression(with_conditional);
    if (!item) return item;
    expr.children.push_back(*item);
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !expr.children.empty()) return expr.children[0];
  if (!is_tuple && !may_be_empty) return unexpected();
  return add(std::move(expr));
}

Result<ExprId> ExpressionParser::list() {
  Expr expr{.kind = Expr::Kind::list, .line = current().line};
  next();
  while (!at_symbol("]")) {
    auto item = expression();
    if (!item) return item;
    expr.children.push_back(*item);
    if (!skip_symbol(",")) break;
  }
  if (auto done = expect_symbol("]"); !done) return fail(std::move(done));
  return add(std::move(expr));
}

Result<ExprId> ExpressionParser::dict() {
  Expr expr{.kind = Expr::Kind::dict, .line = current().line};
  next();
  while (!at_symbol("}")) {
    auto key = expression();
    if (!key) return key;
    if (auto done = expect_symbol(":"); !done) return fail(std::move(done));
    auto value = expression();
    if (!value) return value;
    expr.children.push_back(*key);
    expr.children.push_back(*value);
    if (!skip_symbol(",")) break;
  }
  if (auto done = expect_symbol("}"); !done) return fail(std::move(done));
  return add(std::move(expr));
}

}  // namespace tacet::jinja
