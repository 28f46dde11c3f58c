#include "ops/support.hpp"

namespace tacet::ops {

namespace {

// "896", or a letter where any number will do.
std::string size(std::int64_t wanted, std::string_view letter) {
  return wanted == 0 ? std::string(letter) : fmt::format("{}", wanted);
}

bool fits(std::int64_t given, std::int64_t wanted) {
  return given > 0 && (wanted == 0 || given == wanted);
}

}  // namespace

std::string describe(const ValueType& type) {
  return fmt::format("{} {}", name(type.dtype), to_string(type.shape));
}

ValueType activation(std::int64_t rows, std::int64_t width) {
  return {DType::f32, {rows, width}};
}

InputCheck::InputCheck(std::string_view op, std::span<const ValueType> inputs, std::size_t least,
                       std::size_t most)
    : op_(op), inputs_(inputs) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  const auto range =
      least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  error_ = fmt::format("{} needs {} inputs, not {}.", op, range, inputs.size());
}

const ValueType& InputCheck::operator[](std::size_t i) const noexcept {
  static const ValueType nothing;
  return i < inputs_.size() ? inputs_[i] : nothing;
}

bool InputCheck::is(bool fits, std::size_t i, std::string_view name, std::string_view wanted) {
  if (!error_.empty() || fits) return error_.empty();
  error_ = fmt::format("{} needs {} of type {}, not {}.", op_, name, wanted, describe((*this)[i]));
  return false;
}

void InputCheck::is_activation(std::size_t i, std::string_view name, std::int64_t rows,
                               std::int64_t width) {
  const ValueType& given = (*this)[i];
  is(given.dtype == DType::f32 && given.shape.rank() == 2 && fits(given.shape[0], rows) &&
         fits(given.shape[1], width),
     i, name, fmt::format("f32 [{}, {}]", size(rows, "rows"), size(width, "width")));
}

void InputCheck::is_matrix(std::size_t i, std::string_view name, std::int64_t rows,
                           std::int64_t width) {
  const ValueType& given = (*this)[i];
  if (!is(given.dtype != DType::i32 && given.shape.rank() == 2 && fits(given.shape[0], rows) &&
              fits(given.shape[1], width),
          i, name,
          fmt::format("f32, f16, bf16 or quantized [{}, {}]", size(rows, "rows"),
                      size(width, "width"))))
    return;
  const auto block = static_cast<std::int64_t>(info(given.dtype).block_size);
  is(given.shape[1] % block == 0, i, name,
     fmt::format("{} with a width that is a multiple of {}", tacet::name(given.dtype), block));
}

void InputCheck::is_vector(std::size_t i, std::string_view name, DType dtype, std::int64_t length) {
  const ValueType& given = (*this)[i];
  is(given.dtype == dtype && given.shape.rank() == 1 && fits(given.shape[0], length), i, name,
     fmt::format("{} [{}]", tacet::name(dtype), size(length, "length")));
}

void InputCheck::needs(bool condition, std::string_view needed) {
  if (error_.empty() && !condition) error_ = fmt::format("{} needs {}.", op_, needed);
}

Result<std::vector<ValueType>> InputCheck::gives(std::initializer_list<ValueType> outputs) const {
  if (!error_.empty()) return tl::unexpected(Error(Code::invalid_argument, error_));
  return std::vector<ValueType>(outputs);
}

double bytes(const ValueType& type) noexcept {
  return bytes(type, static_cast<double>(type.shape.rows()));
}

double bytes(const ValueType& type, double rows) noexcept {
  return rows *
         static_cast<double>(row_bytes(type.dtype, static_cast<std::size_t>(type.shape.width())));
}

Work elementwise_work(const NodeView& node, RunShape run, double operations) noexcept {
  Work work;
  for (const ValueType& input : node.inputs)
    work.bytes += input.shape.rank() == 2 ? bytes(input, run.rows) : bytes(input);
  for (const ValueType& output : node.outputs) work.bytes += bytes(output, run.rows);
  work.operations = operations * run.rows * static_cast<double>(node.outputs[0].shape.width());
  return work;
}

Work product_work(const ValueType& weight, double rows) noexcept {
  return {.bytes = bytes(weight) + rows * static_cast<double>(weight.shape[0]) * sizeof(float),
          .operations = 2 * rows * static_cast<double>(weight.shape.elements())};
}

}  // namespace tacet::ops
