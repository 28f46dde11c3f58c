#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tacet {

// Keys come from files, which can be made so that they collide. A table is built anew with another
// seed when one key is too far from its slot, and refused when no seed helps, so building one takes
// time in proportion to its size whatever the keys are.
inline constexpr std::uint64_t kHashSeeds = 4;
/// How many slots are looked at for one key. In a table that is at most half full, some 100 are
/// what chance gives for millions of keys.
inline constexpr std::size_t kMaxProbes = 512;

/// SplitMix64's output function (Steele, Lea, Flood 2014): every bit of `x` changes half of the
/// result's.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed) noexcept {
  return mixed(number + (seed + 1) * 0x9E3779B97F4A7C15U);
}

inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) noexcept {
  std::uint64_t hash = hash_number(text.size(), seed);
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = text.size() < 8 ? text.size() : 8;
    std::memcpy(&word, text.data(), size);
    hash = mixed(hash ^ word);
    text.remove_prefix(size);
  }
  return hash;
}

}  // namespace tacet
