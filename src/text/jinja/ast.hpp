#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.hpp"

namespace tacet::jinja {

/// Indices into Ast::expressions and Ast::statements.
using ExprId = std::uint32_t;
using StmtId = std::uint32_t;
inline constexpr std::uint32_t kNothing = UINT32_MAX;

enum class Operator {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in,
};

struct Keyword {
  std::string name;
  ExprId value;
};

struct Expr {
  enum class Kind {
    constant,   ///< constant
    name,       ///< text
    list,       ///< children
    tuple,      ///< children
    dict,       ///< children: key, value, key, value, ...
    attribute,  ///< children[0] . text
    item,       ///< children[0] [ children[1] ]
    slice,      ///< children: object, start, stop, step (kNothing if absent)
    call,       ///< children[0] ( the other children, keywords )
    filter,  ///< children[0] | text ( the other children, keywords ); children[0] is kNothing in a
             ///< filter block
    test,    ///< children[0] is text ( the other children, keywords )
    negate,  ///< - children[0]
    plus,    ///< + children[0]
    logical_not,  ///< not children[0]
    logical_and,  ///< children[0] and children[1]
    logical_or,
    binary,       ///< children[0] operators[0] children[1]
    compare,      ///< children[0] operators[0] children[1] operators[1] children[2] ...
    concat,       ///< children, as text, joined
    conditional,  ///< children: condition, then, else (kNothing if absent)
  };
  Kind kind;
  int line = 0;
  int depth = 1;  ///< of the tree under it
  std::string text = {};
  Value constant = {};
  std::vector<ExprId> children = {};
  std::vector<Keyword> keywords = {};
  ExprId unpacked_list = kNothing;  ///< of a call, a filter or a test: f(*list, **dict)
  ExprId unpacked_dict = kNothing;
  std::vector<Operator> operators = {};
};

/// What is assigned to: a name, a namespace's attribute, or a tuple of targets.
struct Target {
  enum class Kind { name, attribute, tuple };
  Kind kind = Kind::name;
  std::string name;
  std::string attribute;
  std::vector<Target> parts;
};

struct Parameter {
  std::string name;
  ExprId fallback = kNothing;
};

struct Branch {
  ExprId condition = kNothing;  ///< kNothing: else
  std::vector<StmtId> body;
};

/// What a macro takes beside its parameters: what its body mentions.
struct Extras {
  bool caller = false;
  bool names = false;      ///< kwargs
  bool positions = false;  ///< varargs
};

struct Stmt {
  enum class Kind {
    data,          ///< text
    output,        ///< expressions
    conditional,   ///< branches
    loop,          ///< for target in expression [if condition] body, else branches[0]; text is
                   ///< "recursive" if the loop may be called
    set,           ///< set target = expression
    set_block,     ///< set target [| expression] body
    filter_block,  ///< filter expression, body
    macro,         ///< text, parameters, body
    call_block,    ///< call (parameters) expression, body
    with,          ///< targets = expressions, body
    scope,         ///< body
    block,         ///< body, which sees only the variables of the template itself
    break_loop,
    continue_loop,
  };
  Kind kind;
  int line = 0;
  std::string text = {};
  ExprId expression = kNothing;
  ExprId condition = kNothing;
  std::vector<ExprId> expressions = {};
  Target target = {};
  std::vector<Target> targets = {};
  std::vector<Parameter> parameters = {};
  Extras extras = {};
  std::vector<StmtId> body = {};
  std::vector<Branch> branches = {};
};

/// A parsed template. Trees are indices, so that neither making nor freeing one recurses.
struct Ast {
  std::vector<Expr> expressions;
  std::vector<Stmt> statements;
  std::vector<StmtId> body;

  const Expr& expression(ExprId id) const { return expressions[id]; }
  const Stmt& statement(StmtId id) const { return statements[id]; }
};

}  // namespace tacet::jinja
