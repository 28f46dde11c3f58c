#include "text/jinja/parser.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "formats/gguf/value.hpp"

namespace tacet::jinja {

namespace {

class Parser : private ExpressionParser {
 public:
  Parser(std::span<const Token> tokens, Ast& ast) : ExpressionParser(tokens, ast) {}

  Result<void> run() {
    auto body = statements({});
    if (!body) return fail(std::move(body));
    if (!at(Token::Kind::end)) return unexpected();
    ast_.body = std::move(*body);
    return {};
  }

 private:
  using Names = std::span<const std::string_view>;
  using Body = std::vector<StmtId>;

  StmtId add(Stmt stmt) {
    ast_.statements.push_back(std::move(stmt));
    return static_cast<StmtId>(ast_.statements.size() - 1);
  }
  using ExpressionParser::add;

  /// Statements up to a block that begins with one of `ends`, whose name is then current, or to the
  /// end.
  Result<Body> statements(Names ends) {
    if (nesting_ >= kMaxNesting) {
      return fail(Code::unsupported, "The template is nested more than {} deep at line {}.",
                  kMaxNesting, current().line);
    }
    ++nesting_;
    auto body = statements_here(ends);
    --nesting_;
    return body;
  }

  Result<Body> statements_here(Names ends) {
    Body body;
    while (!at(Token::Kind::end)) {
      if (at(Token::Kind::data)) {
        body.push_back(
            add(Stmt{.kind = Stmt::Kind::data, .line = current().line, .text = current().text}));
        next();
      } else if (at(Token::Kind::variable_begin)) {
        Stmt stmt{.kind = Stmt::Kind::output, .line = current().line};
        next();
        auto expr = tuple(true, false);
        if (!expr) return fail(std::move(expr));
        stmt.expressions.push_back(*expr);
        if (auto done = expect(Token::Kind::variable_end); !done) return fail(std::move(done));
        body.push_back(add(std::move(stmt)));
      } else {
        next();
        if (std::find(ends.begin(), ends.end(), current().text) != ends.end() &&
            at(Token::Kind::name)) {
          return body;
        }
        auto stmt = block();
        if (!stmt) return fail(std::move(stmt));
        body.push_back(*stmt);
        if (auto done = expect(Token::Kind::block_end); !done) return fail(std::move(done));
      }
    }
    if (!ends.empty()) {
      return fail(Code::corrupt, "The template ends too early; '{}' is missing.", ends.back());
    }
    return body;
  }

  /// The end of the present tag, and the statements behind it. The name of the closing tag is
  /// eaten.
  Result<Body> body_until(std::string_view end) {
    const std::array<std::string_view, 1> ends = {end};
    auto body = body_until_any(ends);
    if (body) next();
    return body;
  }

  Result<Body> body_until_any(Names ends) {
    skip_symbol(":");
    if (auto done = expect(Token::Kind::block_end); !done) return fail(std::move(done));
    return statements(ends);
  }

  Result<StmtId> block() {
    const Token token = current();
    if (token.kind != Token::Kind::name) return unexpected();
    next();
    const std::string_view tag = token.text;
    if (tag == "if") return conditional(token.line);
    if (tag == "for") return loop(token.line);
    if (tag == "set") return set(token.line);
    if (tag == "macro") return macro(token.line);
    if (tag == "call") return call_block(token.line);
    if (tag == "filter") return filter_block(token.line);
    if (tag == "with") return with(token.line);
    if (tag == "print") return print(token.line);
    if (tag == "block") return named_block(token.line);
    if (tag == "generation") return scope(token.line, "endgeneration");
    if (tag == "break" || tag == "continue") return leave(token.line, tag == "break");
    constexpr std::array<std::string_view, 7> kOthers = {"extends",    "include", "import", "from",
                                                         "autoescape", "do",      "trans"};
    if (std::find(kOthers.begin(), kOthers.end(), tag) != kOthers.end()) {
      return fail(Code::unsupported,
                  "The template uses the tag {} at line {}, which is not supported.", quoted(tag),
                  token.line);
    }
    return fail(Code::corrupt, "The template has an unknown tag {} at line {}.", quoted(tag),
                token.line);
  }

  Result<StmtId> conditional(int line) {
    constexpr std::array<std::string_view, 3> kEnds = {"elif", "else", "endif"};
    Stmt stmt{.kind = Stmt::Kind::conditional, .line = line};
    while (true) {
      Branch branch;
      auto condition = tuple(false, false);
      if (!condition) return condition;
      branch.condition = *condition;
      auto body = body_until_any(kEnds);
      if (!body) return fail(std::move(body));
      branch.body = std::move(*body);
      stmt.branches.push_back(std::move(branch));
      if (skip_name("elif")) continue;
      if (skip_name("endif")) break;
      next();
      auto otherwise = body_until("endif");
      if (!otherwise) return fail(std::move(otherwise));
      stmt.branches.push_back({kNothing, std::move(*otherwise)});
      break;
    }
    return add(std::move(stmt));
  }

  Result<StmtId> loop(int line) {
    constexpr std::array<std::string_view, 2> kEnds = {"else", "endfor"};
    Stmt stmt{.kind = Stmt::Kind::loop, .line = line};
    auto target = assign_target(false, "in");
    if (!target) return fail(std::move(target));
    stmt.target = std::move(*target);
    if (auto done = expect_name("in"); !done) return fail(std::move(done));
    auto items = tuple(false, false, "recursive");
    if (!items) return items;
    stmt.expression = *items;
    if (skip_name("if")) {
      auto condition = expression();
      if (!condition) return condition;
      stmt.condition = *condition;
    }
    if (skip_name("recursive")) stmt.text = "recursive";
    ++loops_;
    auto body = body_until_any(kEnds);
    --loops_;
    if (!body) return fail(std::move(body));
    stmt.body = std::move(*body);
    if (!skip_name("endfor")) {
      next();
      auto otherwise = body_until("endfor");
      if (!otherwise) return fail(std::move(otherwise));
      stmt.branches.push_back({kNothing, std::move(*otherwise)});
    }
    return add(std::move(stmt));
  }

  Result<StmtId> leave(int line, bool whole) {
    if (loops_ == 0) {
      return fail(Code::corrupt, "The template leaves a loop at line {}, but there is none.", line);
    }
    return add(
        Stmt{.kind = whole ? Stmt::Kind::break_loop : Stmt::Kind::continue_loop, .line = line});
  }

  Result<StmtId> set(int line) {
    Stmt stmt{.kind = Stmt::Kind::set, .line = line};
    auto target = assign_target(true, {});
    if (!target) return fail(std::move(target));
    stmt.target = std::move(*target);
    if (skip_symbol("=")) {
      auto value = tuple(true, false);
      if (!value) return value;
      stmt.expression = *value;
      return add(std::move(stmt));
    }
    stmt.kind = Stmt::Kind::set_block;
    if (at_symbol("|")) {
      auto filter = filters(kNothing, true);
      if (!filter) return filter;
      stmt.expression = *filter;
    }
    return with_body(std::move(stmt), "endset");
  }

  Result<StmtId> macro(int line) {
    Stmt stmt{.kind = Stmt::Kind::macro, .line = line};
    auto identifier = expect_identifier();
    if (!identifier) return fail(std::move(identifier));
    stmt.text = std::move(*identifier);
    if (auto done = signature(stmt); !done) return fail(std::move(done));
    return macro_body(std::move(stmt), "endmacro");
  }

  Result<StmtId> call_block(int line) {
    Stmt stmt{.kind = Stmt::Kind::call_block, .line = line, .text = "caller"};
    if (at_symbol("(")) {
      if (auto done = signature(stmt); !done) return fail(std::move(done));
    }
    auto callee = expression();
    if (!callee) return callee;
    if (ast_.expression(*callee).kind != Expr::Kind::call) return unexpected();
    stmt.expression = *callee;
    return macro_body(std::move(stmt), "endcall");
  }

  Result<StmtId> filter_block(int line) {
    Stmt stmt{.kind = Stmt::Kind::filter_block, .line = line};
    auto filter = filters(kNothing, false);
    if (!filter) return filter;
    stmt.expression = *filter;
    return with_body(std::move(stmt), "endfilter");
  }

  Result<StmtId> with(int line) {
    Stmt stmt{.kind = Stmt::Kind::with, .line = line};
    while (!at(Token::Kind::block_end)) {
      if (!stmt.targets.empty()) {
        if (auto done = expect_symbol(","); !done) return fail(std::move(done));
      }
      auto target = assign_target(false, {});
      if (!target) return fail(std::move(target));
      if (auto done = expect_symbol("="); !done) return fail(std::move(done));
      auto value = expression();
      if (!value) return value;
      stmt.targets.push_back(std::move(*target));
      stmt.expressions.push_back(*value);
    }
    return with_body(std::move(stmt), "endwith");
  }

  Result<StmtId> print(int line) {
    Stmt stmt{.kind = Stmt::Kind::output, .line = line};
    while (!at(Token::Kind::block_end)) {
      auto value = expression();
      if (!value) return value;
      stmt.expressions.push_back(*value);
      if (!skip_symbol(",")) break;
    }
    return add(std::move(stmt));
  }

  Result<StmtId> scope(int line, std::string_view end) {
    return with_body(Stmt{.kind = Stmt::Kind::scope, .line = line}, end);
  }

  Result<StmtId> with_body(Stmt stmt, std::string_view end) {
    const int outer = std::exchange(loops_, 0);
    auto body = body_until(end);
    loops_ = outer;
    if (!body) return fail(std::move(body));
    stmt.body = std::move(*body);
    return add(std::move(stmt));
  }

  /// `stmt` has its parameters.
  Result<StmtId> macro_body(Stmt stmt, std::string_view end) {
    const int line = stmt.line;
    const Extras outer = std::exchange(mentioned_, {});
    auto made = with_body(std::move(stmt), end);
    const Extras inner = std::exchange(
        mentioned_, {outer.caller || mentioned_.caller, outer.names || mentioned_.names,
                     outer.positions || mentioned_.positions});
    if (!made) return made;
    Stmt& macro = ast_.statements[*made];
    macro.extras = inner;
    for (const Parameter& parameter : macro.parameters) {
      if (parameter.name == "kwargs") macro.extras.names = false;
      if (parameter.name == "varargs") macro.extras.positions = false;
      if (parameter.name != "caller" || !inner.caller) continue;
      macro.extras.caller = false;
      if (parameter.fallback == kNothing)
        return fail(Code::corrupt,
                    "The template has a macro whose parameter caller has no default at line {}.",
                    line);
    }
    return made;
  }

  Result<StmtId> named_block(int line) {
    Stmt stmt{.kind = Stmt::Kind::block, .line = line};
    auto identifier = expect_identifier();
    if (!identifier) return fail(std::move(identifier));
    const std::string name = std::move(*identifier);
    if (!blocks_.insert(name).second)
      return fail(Code::corrupt, "The template has a second block {} at line {}; rename it.",
                  quoted(name), line);
    if (skip_name("scoped")) stmt.kind = Stmt::Kind::scope;
    if (at_name("required"))
      return fail(Code::corrupt,
                  "The template has a block without a body at line {}, which only another template "
                  "can give it.",
                  line);
    auto made = with_body(std::move(stmt), "endblock");
    skip_name(name);
    return made;
  }

  Result<void> signature(Stmt& stmt) {
    if (auto done = expect_symbol("("); !done) return done;
    while (!at_symbol(")")) {
      Parameter parameter;
      auto identifier = expect_identifier();
      if (!identifier) return fail(std::move(identifier));
      parameter.name = std::move(*identifier);
      if (skip_symbol("=")) {
        auto fallback = expression();
        if (!fallback) return fail(std::move(fallback));
        parameter.fallback = *fallback;
      } else if (!stmt.parameters.empty() && stmt.parameters.back().fallback != kNothing) {
        return unexpected();
      }
      stmt.parameters.push_back(std::move(parameter));
      if (!skip_symbol(",")) break;
    }
    return expect_symbol(")");
  }

  /// One target or several with commas, up to the name `end` or a symbol that is no comma.
  Result<Target> assign_target(bool with_attribute, std::string_view end) {
    Target tuple{.kind = Target::Kind::tuple, .name = {}, .attribute = {}, .parts = {}};
    bool is_tuple = false;
    while (true) {
      if (is_tuple && (at_symbol("=") || at_symbol(")") || (!end.empty() && at_name(end)))) break;
      auto part = single_target(with_attribute);
      if (!part) return part;
      tuple.parts.push_back(std::move(*part));
      if (!skip_symbol(",")) break;
      is_tuple = true;
    }
    if (!is_tuple) return std::move(tuple.parts[0]);
    return tuple;
  }

  Result<Target> single_target(bool with_attribute) {
    if (skip_symbol("(")) {
      if (++nesting_ > kMaxNesting) return unexpected();
      auto inner = assign_target(with_attribute, {});
      --nesting_;
      if (!inner) return inner;
      if (auto done = expect_symbol(")"); !done) return fail(std::move(done));
      return inner;
    }
    constexpr std::array<std::string_view, 6> kConstants = {"true",  "True", "false",
                                                            "False", "none", "None"};
    if (std::find(kConstants.begin(), kConstants.end(), current().text) != kConstants.end()) {
      return unexpected();
    }
    auto identifier = expect_identifier();
    if (!identifier) return fail(std::move(identifier));
    Target target;
    target.name = std::move(*identifier);
    if (with_attribute && skip_symbol(".")) {
      auto attribute = expect_identifier();
      if (!attribute) return fail(std::move(attribute));
      target.kind = Target::Kind::attribute;
      target.attribute = std::move(*attribute);
    }
    return target;
  }

  int loops_ = 0;  ///< around the present statement
  std::set<std::string> blocks_;
};

}  // namespace

Result<Ast> parse(std::span<const Token> tokens) {
  Ast ast;
  if (auto done = Parser(tokens, ast).run(); !done) return fail(std::move(done));
  return ast;
}

}  // namespace tacet::jinja
