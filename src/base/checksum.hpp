#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tacet {

/// A checksum of bytes that come in pieces: finds accidents, not forgeries. The same bytes give the
/// same sum however they are cut. XXH3, 64 bits.
class Checksum {
 public:
  Checksum() noexcept { XXH3_64bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) noexcept {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  std::uint64_t value() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// That of `bytes` at once.
inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tacet
