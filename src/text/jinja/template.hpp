#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "text/jinja/meter.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

struct Ast;

/// A Jinja template (https://jinja.palletsprojects.com), as far as chat templates need it: all tags
/// but inheritance and inclusion. Renders what Python's jinja2 renders with
/// trim_blocks and lstrip_blocks on; `tojson` is json.dumps without escapes for HTML, as in
/// transformers. Immutable; any number of threads may use one; copies share.
class Template {
 public:
  /// Fails with corrupt (and the line) for what is not Jinja or not UTF-8, with unsupported for a
  /// tag that is not known here, nesting beyond 128 and sources beyond 512 KiB.
  static Result<Template> parse(std::string_view source);

  /// The text for a context: a dict with strings as keys. `now` is what strftime_now sees, in local
  /// time. Fails with invalid_argument if the
  /// template calls raise_exception, with corrupt for an error of the template, with unsupported
  /// when it exceeds `limits` or wants a filter, test or method that is not known here.
  Result<std::string> render(
      const Value& context, const Limits& limits = {},
      std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const;

 private:
  explicit Template(std::shared_ptr<const Ast> ast) : ast_(std::move(ast)) {}
  std::shared_ptr<const Ast> ast_;
};

}  // namespace tacet::jinja
