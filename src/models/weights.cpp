#include "models/weights.hpp"

#include <algorithm>
#include <cstring>

namespace tacet {

namespace {

/// What an element, or the scale of a block, must be aligned to.
std::size_t alignment_of(DType type) noexcept {
  return type == DType::f32 || type == DType::i32 ? alignof(float) : alignof(std::uint16_t);
}

}  // namespace

Result<Weights> Weights::read(const Gguf& file) {
  Weights weights;
  for (const TensorInfo& tensor : file.tensors()) {
    Entry entry;
    if (const auto dtype = tensor.dtype()) {
      std::vector<std::int64_t> dims;
      for (const std::uint64_t dim : tensor.shape()) dims.push_back(static_cast<std::int64_t>(dim));
      entry.weight.type = {*dtype, Shape(dims)};
      entry.weight.data = tensor.data.data();
      if (reinterpret_cast<std::uintptr_t>(entry.weight.data) % alignment_of(*dtype) != 0) {
        auto copy = std::make_unique<std::byte[]>(tensor.data.size());
        std::memcpy(copy.get(), tensor.data.data(), tensor.data.size());
        entry.weight.data = copy.get();
        weights.copies_.push_back(std::move(copy));
      }
    } else {
      entry.error = dtype.error();
    }
    weights.bytes_ += tensor.data.size();
    weights.parameters_ += tensor.elements;
    weights.entries_.emplace(std::string(tensor.name), std::move(entry));
  }
  return weights;
}

void Weights::replace(const std::string& name, Layout layout, std::unique_ptr<Buffer> bytes) {
  buffers_.push_back(std::move(bytes));
  Weight& weight = entries_.at(name).weight;
  weight.type.layout = layout;
  weight.data = buffers_.back()->data();
  weight.on_device = true;
}

Result<const Weight*> Weights::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  if (found->second.error) return tl::unexpected(*found->second.error);
  return &found->second.weight;
}

std::string Weights::types() const {
  std::map<std::string_view, std::size_t> sizes;
  for (const auto& [key, entry] : entries_) {
    const ValueType& type = entry.weight.type;
    if (entry.error)
      sizes["other"] += 1;
    else
      sizes[name(type.dtype)] +=
          static_cast<std::size_t>(type.shape.rows()) *
          row_bytes(type.dtype, static_cast<std::size_t>(type.shape.width()));
  }
  std::vector<std::pair<std::string_view, std::size_t>> sorted(sizes.begin(), sizes.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [type, size] : sorted) text += (text.empty() ? "" : ", ") + std::string(type);
  return text;
}

}  // namespace tacet
