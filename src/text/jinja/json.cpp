#include "text/jinja/json.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tacet::jinja {
namespace {

using Json = nlohmann::json;

/// Takes the parser's events and builds the value.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  bool null() override { return put(Value::none()); }
  bool boolean(bool value) override { return put(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return put(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return too_large();
    return put(Value::integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    if (digits.find_first_of(".eE") == string_t::npos) return too_large();
    return put(Value::number(value));
  }
  bool string(string_t& value) override { return put(Value::string(std::move(value))); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    const auto [place, fresh] = frame.places.try_emplace(name, frame.entries.size());
    frame.place = place->second;
    if (fresh) frame.entries.emplace_back(std::move(name), Value());
    return true;
  }
  bool end_object() override {
    Value value = Value::dict(std::move(frames_.back().entries));
    frames_.pop_back();
    return put(std::move(value));
  }
  bool end_array() override {
    Value value = Value::list(std::move(frames_.back().items));
    frames_.pop_back();
    return put(std::move(value));
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error_ = Error(Code::invalid_argument,
                   fmt::format("{} are not valid JSON at byte {}; correct the text there.", what_,
                               position > 0 ? position - 1 : 0));
    return false;
  }

  Result<Value> take() {
    if (error_) return tl::unexpected(std::move(*error_));
    return std::move(value_);
  }

 private:
  struct Frame {
    bool is_object;
    std::vector<Value> items = {};
    std::vector<std::pair<std::string, Value>> entries = {};
    std::unordered_map<std::string, std::size_t> places = {};  ///< of the keys
    std::size_t place = 0;                                     ///< of the present key
  };

  bool open(bool is_object) {
    if (frames_.size() >= kMaxJsonNesting) {
      error_ = Error(Code::invalid_argument,
                     fmt::format("{} are nested more than {} deep; make them flatter.", what_,
                                 kMaxJsonNesting));
      return false;
    }
    frames_.push_back({.is_object = is_object});
    return true;
  }

  bool put(Value value) {
    if (frames_.empty()) {
      value_ = std::move(value);
    } else if (frames_.back().is_object) {
      frames_.back().entries[frames_.back().place].second = std::move(value);
    } else {
      frames_.back().items.push_back(std::move(value));
    }
    return true;
  }

  bool too_large() {
    error_ = Error(Code::invalid_argument,
                   fmt::format("{} have an integer that needs more than 64 bits; write it as a "
                               "string.",
                               what_));
    return false;
  }

  std::string_view what_;
  std::vector<Frame> frames_;
  Value value_;
  std::optional<Error> error_;
};

}  // namespace

Result<Value> parse_json(std::string_view text, std::string_view what) {
  Builder builder(what);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace tacet::jinja
