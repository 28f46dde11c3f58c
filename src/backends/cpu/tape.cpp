#include "backends/cpu/tape.hpp"

#include <cstring>

namespace tacet::cpu {

void TapeBuilder::append(const void* arguments, std::size_t bytes, CountFunction count,
                         ChunkFunction chunk, NeedsFunction needs) {
  // new[] of bytes is aligned to 16.
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
  auto copy = std::make_unique<std::byte[]>(bytes);
  std::memcpy(copy.get(), arguments, bytes);
  if (names_.empty() || *names_.back() != name_)
    names_.push_back(std::make_unique<std::string>(name_));
  steps_.push_back({chunk, count, needs, copy.get(), *names_.back(), static_cast<float>(seconds_)});
  arguments_.push_back(std::move(copy));
}

}  // namespace tacet::cpu
