#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tacet {

/// A checksum of bytes that come in pieces: finds accidents, not forgeries. The same bytes give the
/// same sum however they are cut. Each word goes through SplitMix64's output function (Steele, Lea,
/// Flood 2014) together with what came before.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    size_ += bytes.size();
    while (!bytes.empty()) {
      const std::size_t n = bytes.size() < 8 - held_ ? bytes.size() : 8 - held_;
      std::memcpy(reinterpret_cast<std::byte*>(&word_) + held_, bytes.data(), n);
      bytes = bytes.subspan(n);
      held_ += n;
      if (held_ < 8) return;
      sum_ = mixed(sum_ ^ word_);
      word_ = 0;
      held_ = 0;
    }
  }
  std::uint64_t value() const noexcept { return mixed(mixed(sum_ ^ word_) ^ size_); }

 private:
  static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  std::uint64_t sum_ = 0;
  std::uint64_t word_ = 0;
  std::size_t held_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tacet
