#include <fmt/ranges.h>

#include <memory>

#include "formats/gguf/reader.hpp"
#include "formats/mapped_file.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/options.hpp"
#include "types/gguf_type.hpp"

namespace tacet::cli {
namespace {

constexpr std::size_t kShownElements = 8;
constexpr std::size_t kShownBytes = 60;

std::string type_name(const Metadata& entry) {
  if (entry.type != MetadataType::array) return std::string(name(entry.type));
  return fmt::format("{}[{}]", name(entry.element), entry.count);
}

std::string tensor_type(const TensorInfo& tensor) {
  const GgufType* type = gguf_type(tensor.type);
  return type != nullptr ? std::string(type->name) : fmt::format("type {}", tensor.type);
}

struct ShortText {
  std::string operator()(std::string_view value) const { return quoted(value, kShownBytes); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  template <typename T>
  std::string operator()(T value) const {
    return fmt::format("{}", value);
  }
};

std::string short_value(const Metadata& entry) {
  std::vector<std::string> shown;
  for (const Scalar& value : scalars(entry, kShownElements))
    shown.push_back(std::visit(ShortText{}, value));
  if (entry.type != MetadataType::array) return shown.empty() ? "" : shown.front();
  if (entry.count > shown.size()) shown.emplace_back("...");
  return fmt::format("[{}]", fmt::join(shown, ", "));
}

Json json_value(const Scalar& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json to_json(const Metadata& entry) {
  Json json = {{"key", entry.key}, {"type", name(entry.type)}};
  if (entry.type != MetadataType::array) {
    const std::vector<Scalar> value = scalars(entry, 1);
    json["value"] = value.empty() ? Json() : json_value(value.front());
    return json;
  }
  json["element"] = name(entry.element);
  json["count"] = entry.count;
  json["first"] = Json::array();
  for (const Scalar& value : scalars(entry, kShownElements))
    json["first"].push_back(json_value(value));
  return json;
}

Json to_json(const TensorInfo& tensor) {
  return {{"name", tensor.name},
          {"type", tensor_type(tensor)},
          {"shape", std::vector<std::uint64_t>(tensor.shape().begin(), tensor.shape().end())},
          {"bytes", tensor.data.size()},
          {"offset", tensor.offset}};
}

Json to_json(const Gguf& file) {
  Json json = {{"version", file.version()},
               {"alignment", file.alignment()},
               {"metadata", Json::array()},
               {"tensors", Json::array()}};
  for (const Metadata& entry : file.metadata()) json["metadata"].push_back(to_json(entry));
  for (const TensorInfo& tensor : file.tensors()) json["tensors"].push_back(to_json(tensor));
  return json;
}

std::string to_text(const Gguf& file) {
  Table metadata({"key", "type", "value"});
  for (const Metadata& entry : file.metadata())
    metadata.add({quoted(entry.key, kShownBytes), type_name(entry), short_value(entry)});
  Table tensors({"tensor", "type", ">shape", ">bytes"});
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    tensors.add({quoted(tensor.name, kShownBytes), tensor_type(tensor),
                 fmt::format("{}", fmt::join(tensor.shape(), " x ")),
                 fmt::format("{}", tensor.data.size())});
    elements += tensor.elements;
    bytes += tensor.data.size();
  }
  return fmt::format("GGUF version {}, {} keys, {} tensors, {} elements in {}\n\n{}\n{}",
                     file.version(), file.metadata().size(), file.tensors().size(),
                     human_count(static_cast<double>(elements)),
                     human_bytes(static_cast<double>(bytes)), metadata.text(), tensors.text());
}

int inspect(const std::string& path, bool json) {
  FileOptions options;
  options.prefault = false;
  Result<FileBytes> file = FileBytes::load(path, options);
  if (!file) return complain_of_file(file.error(), path);
  Result<Gguf> gguf = read_gguf(file->bytes(), path);
  if (!gguf) return complain_of_file(gguf.error(), path);
  return json ? print_json(to_json(*gguf)) : print(to_text(*gguf));
}

}  // namespace

void add_inspect(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("inspect", "Show what a GGUF file holds");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("FILE", *path, "a GGUF file, of any architecture")
      ->required()
      ->check(path_given("name a GGUF file"));
  command->add_flag("--json", *json, "print one JSON object");
  command->footer(
      "Long values are cut short; shapes have the outermost dimension first.\n\n"
      "Example:\n  tacet inspect models/tiny-chat-Q8_0.gguf");
  command->callback([&job, path, json] { job = [path, json] { return inspect(*path, *json); }; });
}

}  // namespace tacet::cli
