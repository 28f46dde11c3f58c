#include "models/quantize_file.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/float_mode.hpp"
#include "formats/gguf/reader.hpp"
#include "formats/gguf/writer.hpp"
#include "types/convert.hpp"

namespace tacet {
namespace {

/// What a thread takes at a time: whole blocks of every type, some milliseconds of work.
constexpr std::size_t kPiece = 16 << 10;
/// What is written at a time.
constexpr std::size_t kBatch = 64 * kPiece;

constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kVersion = "general.quantization_version";

struct Job {
  const TensorInfo* tensor;
  DType from;
  DType to;
};

bool is_quantized(DType type) {
  return info(type).block_size > 1;
}

Error stop_error(const std::string& out, StopReason reason) {
  return Error(Code::stopped, fmt::format("Writing '{}' stopped ({}).", out, name(reason)));
}

/// The number at `key`, or 0 where it is missing, an array, or something else.
std::uint64_t number(const Gguf& file, const std::string& key) {
  const auto value = file.unsigned_value(key, 0);
  return value ? *value : 0;
}

MixModel model_of(const Gguf& file) {
  const std::string architecture(file.string_value("general.architecture", "").value_or(""));
  MixModel model;
  model.layers = number(file, architecture + ".block_count");
  model.heads = number(file, architecture + ".attention.head_count");
  model.kv_heads = number(file, architecture + ".attention.head_count_kv");
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  model.experts = number(file, architecture + ".expert_count");
  model.tied = file.find("output.weight") == nullptr;
  return model;
}

Result<std::vector<Job>> plan(const Gguf& file, const Mix& mix, bool again) {
  if (number(file, "split.count") > 1)
    return fail(Code::unsupported,
                "This is one part of a model that is split over {} files; join them first, such as "
                "with llama-gguf-split --merge.",
                number(file, "split.count"));
  const MixModel model = model_of(file);
  std::vector<Job> jobs;
  for (const TensorInfo& tensor : file.tensors()) {
    const auto from = tensor.dtype();
    if (!from) return tl::unexpected(from.error());
    const bool mixed = is_mixed(tensor.name, tensor.shape()) && *from != DType::i32;
    const DType to = mixed ? type_in_mix(mix, model, tensor.name, tensor.shape()) : *from;
    if (to != *from && is_quantized(*from) && !again)
      return fail(
          Code::invalid_argument,
          "The tensor {} is quantized already ({}), and quantizing it again loses more than "
          "quantizing the original; start from an f16, bf16 or f32 file, or allow it with "
          "--requantize.",
          quoted(tensor.name), name(*from));
    jobs.push_back({&tensor, *from, to});
  }
  return jobs;
}

/// Converts batches of a tensor on several threads. Memory is taken once, here.
class Converter {
 public:
  Converter(unsigned threads, StopToken stop)
      : stop_(std::move(stop)), out_(kBatch * sizeof(float)), floats_(threads * kPiece) {
    helpers_.reserve(threads);
  }

  /// Elements `first` to `first + count` of the job's tensor in their new type; empty if it was
  /// stopped. Valid until the next call.
  std::span<const std::byte> convert(const Job& job, std::size_t first, std::size_t count) {
    const std::size_t pieces = (count + kPiece - 1) / kPiece;
    const std::size_t threads = std::min(floats_.size() / kPiece, pieces);
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> stopped = false;
    const auto work = [&](std::size_t thread) noexcept {
      const DefaultFloatMode float_mode;
      const auto floats = std::span(floats_).subspan(thread * kPiece, kPiece);
      for (std::size_t i = next++; i < pieces; i = next++) {
        if (stop_.stop_requested()) stopped = true;
        if (stopped) return;
        const std::size_t begin = i * kPiece;
        const auto part = floats.first(std::min(kPiece, count - begin));
        dequantize(job.from, job.tensor->data.data() + row_bytes(job.from, first + begin), part);
        quantize(job.to, part, out_.data() + row_bytes(job.to, begin));
      }
    };
    for (std::size_t i = 1; i < threads; ++i) {
      try {
        helpers_.emplace_back(work, i);
      } catch (const std::exception&) {
        break;  // the threads that there are do all of it
      }
    }
    work(0);
    helpers_.clear();
    if (stopped) return {};
    return std::span(out_).first(row_bytes(job.to, count));
  }

 private:
  StopToken stop_;
  std::vector<std::byte> out_;
  std::vector<float> floats_;
  std::vector<std::jthread> helpers_;
};

}  // namespace

Result<QuantizeReport> quantize_file(const std::string& in, const std::string& out, const Mix& mix,
                                     const QuantizeOptions& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(in, out, ignored))
    return fail(Code::invalid_argument, "'{}' is the input itself; name another file to write.",
                out);
  if (const StopReason reason = options.stop.reason(); reason != StopReason::none)
    return tl::unexpected(stop_error(out, reason));
  FileOptions file_options;
  file_options.prefault = false;
  auto file = FileBytes::load(in, file_options);
  if (!file) return fail(std::move(file));
  auto gguf = read_gguf(file->bytes(), in);
  if (!gguf) return fail(std::move(gguf));
  auto jobs = plan(*gguf, mix, options.again);
  if (!jobs) return fail(std::move(jobs));

  GgufWriter writer(out, options.stop);
  for (const Metadata& entry : gguf->metadata()) {
    const bool fixed = entry.key == kFileType || entry.key == kVersion;
    if (!fixed && entry.key != "general.alignment") writer.add(entry);
  }
  writer.add(kVersion, std::uint32_t{2});
  writer.add(kFileType, mix.file_type);
  QuantizeReport report;
  for (const Job& job : *jobs) {
    writer.add_tensor(job.tensor->name, job.to, job.tensor->shape());
    report.input_bytes += job.tensor->data.size();
    if (job.to == job.from) continue;
    ++report.converted;
    const bool whole = job.tensor->shape().back() % info(mix.base).block_size == 0;
    report.substituted += whole ? 0U : 1U;
  }
  report.output_bytes = writer.data_bytes();
  if (auto ok = writer.begin(); !ok) return fail(std::move(ok));

  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  Converter converter(options.threads != 0 ? options.threads : cores, options.stop);
  std::uint64_t done = 0;
  for (const Job& job : *jobs) {
    const auto data = job.tensor->data;
    for (std::uint64_t first = 0; first < job.tensor->elements;) {
      if (const StopReason reason = options.stop.reason(); reason != StopReason::none)
        return tl::unexpected(stop_error(out, reason));
      const std::size_t count = std::min<std::uint64_t>(kBatch, job.tensor->elements - first);
      const std::size_t begin = row_bytes(job.from, first);
      const auto part = data.subspan(begin, row_bytes(job.from, count));
      const auto bytes = job.to == job.from ? part : converter.convert(job, first, count);
      if (bytes.empty()) return tl::unexpected(stop_error(out, options.stop.reason()));
      if (auto ok = writer.write(bytes); !ok) return fail(std::move(ok));
      file->release(part);
      first += count;
      done += part.size();
      if (options.progress) options.progress(done, report.input_bytes);
    }
  }
  if (auto ok = writer.finish(); !ok) return fail(std::move(ok));
  return report;
}

}  // namespace tacet
