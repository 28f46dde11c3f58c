#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/result.hpp"
#include "formats/mapped_file.hpp"
#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/exit_codes.hpp"
#include "tacet/interrupt.hpp"
#include "tacet/options.hpp"

namespace tacet::cli {
namespace {

constexpr std::uint32_t kDefaultContext = 512;
constexpr std::uint32_t kLeastContext = 4;

struct PerplexityOptions {
  ModelOptions model;
  SessionOptions session;
  std::string file;
  std::uint32_t chunks = 0;  ///< 0: all
  bool special = false;
  bool json = false;
};

/// The mean of negated log probabilities, and what follows from it.
class Mean {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  double perplexity() const { return std::exp(sum_ / static_cast<double>(count_)); }
  /// Of the perplexity, from that of the mean.
  double standard_error() const {
    const auto n = static_cast<double>(count_);
    const double variance = squares_ / n - (sum_ / n) * (sum_ / n);
    return count_ < 2 ? 0 : perplexity() * std::sqrt(std::fmax(variance, 0) / (n - 1));
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  std::uint64_t count_ = 0;
};

Result<std::vector<Token>> tokens_of(const Model& model, const PerplexityOptions& options) {
  Result<FileBytes> file = FileBytes::load(options.file, {.mode = FileMode::read});
  if (!file) return fail(std::move(file));
  const auto bytes = file->bytes();
  return model.tokenize({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                        options.special);
}

/// Scores the second half of each chunk and shows the perplexity so far. 0, or the exit code.
int score(const Model& model, const PerplexityOptions& options, std::span<const Token> tokens,
          std::uint32_t chunks, Mean& mean, Json& running) {
  Result<Session> session = model.new_session(options.session);
  if (!session) return complain(session.error());
  const std::uint32_t size = session->context();
  std::vector<float> scores(size);
  const Interruptible work;
  ProgressLine progress("scoring");
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (Result<void> empty = session->truncate(0); !empty) return complain(empty.error());
    std::vector<Token> part(tokens.begin() + chunk * size, tokens.begin() + (chunk + 1) * size);
    if (const std::optional<Token> start = model.start_token()) part[0] = *start;
    const Outcome outcome = session->score(part, scores, work.token());
    if (outcome.stopped()) return work.exit_code();
    if (outcome.error) return complain(*outcome.error);
    for (std::uint32_t i = size / 2 + 1; i < size; ++i) mean.add(-double{scores[i]});
    const double value = mean.perplexity();
    if (!std::isfinite(value)) {
      complain(
          fmt::format("The model's answer to chunk {} is no number; its file is damaged, or "
                      "its values are too large for the type of keys and values.",
                      chunk + 1));
      return kFailed;
    }
    running.push_back(value);
    progress.show(chunk + 1, chunks);
    if (options.json) continue;
    const bool last = chunk + 1 == chunks;
    if (const int code =
            print(fmt::format("[{}] {:.4f}{}", chunk + 1, value, last ? "\n" : ", "), work.token()))
      return code;
  }
  return kDone;
}

int perplexity(PerplexityOptions options) {
  tl::expected<Opened, int> opened = open_model(options.model);
  if (!opened) return opened.error();
  const Model& model = opened->model;
  if (options.session.context == 0)
    options.session.context = std::min(kDefaultContext, model.info().context_length);
  const std::uint32_t size = options.session.context;
  Result<std::vector<Token>> tokens = tokens_of(model, options);
  if (!tokens) return complain_of_file(tokens.error(), options.file);
  if (const std::optional<Token> start = model.start_token())
    tokens->insert(tokens->begin(), *start);
  if (tokens->size() < size) {
    complain(
        fmt::format("'{}' has {} tokens, less than one chunk of {}; give a longer text, or a "
                    "smaller --ctx.",
                    options.file, tokens->size(), size));
    return kUsage;
  }
  auto chunks = static_cast<std::uint32_t>(tokens->size() / size);
  if (options.chunks != 0) chunks = std::min(chunks, options.chunks);

  Mean mean;
  Json running = Json::array();
  if (const int code = score(model, options, *tokens, chunks, mean, running)) return code;
  if (options.json)
    return print_json({{"model", options.model.label()},
                       {"file", options.file},
                       {"context", size},
                       {"chunks", chunks},
                       {"tokens", mean.count()},
                       {"perplexity", mean.perplexity()},
                       {"standard_error", mean.standard_error()},
                       {"running", running}});
  return print(fmt::format("perplexity {:.4f} +/- {:.4f}: {} tokens in {} chunks of {}\n",
                           mean.perplexity(), mean.standard_error(), mean.count(), chunks, size));
}

}  // namespace

void add_perplexity(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  auto options = std::make_shared<PerplexityOptions>();
  command->add_option("FILE", options->file, "a text")
      ->required()
      ->check(path_given("name a text file"));
  add_model_options(*command, options->model);
  add_session_options(*command, options->session);
  options->session.share_prefix = false;  // all is to be computed
  command->get_option("--ctx")
      ->description("tokens of a chunk (default: 512, or what the model was trained for)")
      ->transform(whole_number(kLeastContext, kLargestContext));
  command->add_option("--chunks", options->chunks, "how many chunks (default: all that are whole)")
      ->type_name("N")
      ->transform(whole_number(1, kMostTokens));
  command->add_flag("--special", options->special, "read control tokens in the text as such");
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "The text is cut into chunks, each read in an empty context. The tokens of its second half "
      "are\n"
      "scored, given all before them; the perplexity is exp of minus the mean of the logarithms "
      "of\n"
      "their probabilities, as llama-perplexity has it. Values so far are in brackets.\n\n"
      "Example:\n  tacet perplexity -m qwen2-0.5b.gguf --chunks 20 wiki.test.raw");
  command->callback([&job, options] { job = [options] { return perplexity(*options); }; });
}

}  // namespace tacet::cli
