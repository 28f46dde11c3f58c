#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "types/convert.hpp"
#include "types/fit.hpp"

namespace tacet::codec {

// How the groups of a 256-element block share a half as scale (and one as min): each group has a
// small integer k (and m) that multiplies it.

inline constexpr std::uint16_t half_nan = 0x7E00;
inline constexpr std::uint16_t half_infinity = 0x7C00;
inline bool is_infinite(std::uint16_t half) noexcept {
  return (half & 0x7FFFU) == half_infinity;
}
/// A block whose largest magnitude is less than this has a scale of zero in half precision.
inline constexpr float least_peak = 1e-12F;
/// A block with a larger magnitude has an infinite scale.
inline constexpr float most_peak = 1e12F;

/// A block's shared scale, and each group's factor.
template <std::size_t Groups>
struct GroupScales {
  std::uint16_t scale = 0;  ///< half
  std::array<int, Groups> k{};
  float step(std::size_t group) const noexcept {
    return f16_to_f32(scale) * static_cast<float>(k[group]);
  }
};

/// The scale that a block takes when its floats allow no search: zero, infinite or not a number.
/// False if they do.
inline bool is_special(const Magnitudes& all, std::uint16_t& scale) noexcept {
  if (!(all.peak <= most_peak) || !std::isfinite(all.mean_square)) {
    scale = all.mean_square != all.mean_square ? half_nan : half_infinity;
    return true;
  }
  scale = 0;
  return all.peak < least_peak;
}

/// Fits 256 floats as scale * k[group] * level, k from `Low` to `High`.
template <typename Levels, std::size_t Groups, int Low, int High>
class ScaleFit {
 public:
  ScaleFit(const float* x, const float* w) noexcept : x_(x), w_(w) {}

  GroupScales<Groups> best(int steps, float from, float to) noexcept {
    std::array<float, Groups> ideal{};
    float peak = 0.0F;
    for (std::size_t g = 0; g < Groups; ++g) {
      ideal[g] = fit_scale<Levels>(x_ + g * kSize, w_ + g * kSize, kSize, steps, from, to);
      if (std::fabs(ideal[g]) > std::fabs(peak)) peak = ideal[g];
    }
    GroupScales<Groups> best;
    float best_error = error(best);
    if (peak == 0.0F) return best;
    for (const float widest : {float{Low}, Low + 2.0F}) {
      float scale = peak / widest;
      for (int round = 0; round < 2; ++round) {
        const GroupScales<Groups> now = choose(scale, ideal);
        if (is_infinite(now.scale)) return now;
        const float now_error = error(now);
        if (now_error < best_error) {
          best_error = now_error;
          best = now;
        }
        scale = refit(now);
      }
    }
    return best;
  }

 private:
  static constexpr std::size_t kSize = 256 / Groups;

  float group_error(std::size_t g, float step) const noexcept {
    return scale_error<Levels>(x_ + g * kSize, w_ + g * kSize, kSize, step);
  }

  /// Each group's best factor near its ideal one.
  GroupScales<Groups> choose(float scale, const std::array<float, Groups>& ideal) const noexcept {
    GroupScales<Groups> result;
    result.scale = f32_to_f16(scale);
    const float rounded = f16_to_f32(result.scale);
    if (rounded == 0.0F || !std::isfinite(rounded)) return result;
    for (std::size_t g = 0; g < Groups; ++g) {
      const float wanted = std::round(ideal[g] / rounded);
      const int middle = static_cast<int>(std::fmin(std::fmax(wanted, Low), High));
      float least = group_error(g, 0.0F);
      for (int k = middle - 1; k <= middle + 1; ++k) {
        if (k < Low || k > High || k == 0) continue;
        const float e = group_error(g, rounded * static_cast<float>(k));
        if (e < least) {
          least = e;
          result.k[g] = k;
        }
      }
    }
    return result;
  }

  float error(const GroupScales<Groups>& scales) const noexcept {
    float sum = 0.0F;
    for (std::size_t g = 0; g < Groups; ++g) sum += group_error(g, scales.step(g));
    return sum;
  }

  /// The shared scale that fits the levels of `scales` best.
  float refit(const GroupScales<Groups>& scales) const noexcept {
    ScaleSums all;
    for (std::size_t g = 0; g < Groups; ++g) {
      const ScaleSums sums =
          scale_sums<Levels>(x_ + g * kSize, w_ + g * kSize, kSize, scales.step(g));
      const auto k = static_cast<float>(scales.k[g]);
      all.xq += sums.xq * k;
      all.qq += sums.qq * k * k;
    }
    return all.scale();
  }

  const float* x_;
  const float* w_;
};

/// A block's shared scale and min, and each group's factors.
template <std::size_t Groups>
struct GroupAffines {
  std::uint16_t scale = 0;  ///< half
  std::uint16_t min = 0;    ///< half
  std::array<int, Groups> k{};
  std::array<int, Groups> m{};
  Affine group(std::size_t g) const noexcept {
    return {f16_to_f32(scale) * static_cast<float>(k[g]),
            f16_to_f32(min) * static_cast<float>(m[g])};
  }
};

/// Fits 256 floats as scale * k[group] * q - min * m[group], q from 0 to `Top`, k and m to `Most`.
template <int Top, std::size_t Groups, int Most>
class AffineFit {
 public:
  AffineFit(const float* x, const float* w) noexcept : x_(x), w_(w) {}

  GroupAffines<Groups> best(int steps, float from, float to) noexcept {
    std::array<Affine, Groups> ideal{};
    Affine widest;
    for (std::size_t g = 0; g < Groups; ++g) {
      ideal[g] = fit_affine(x_ + g * kSize, w_ + g * kSize, kSize, Top, steps, from, to);
      widest.scale = std::fmax(widest.scale, ideal[g].scale);
      widest.min = std::fmax(widest.min, ideal[g].min);
    }
    GroupAffines<Groups> best;
    float best_error = error(best);
    Affine shared{widest.scale / Most, widest.min / Most};
    for (int round = 0; round < 4; ++round) {
      const GroupAffines<Groups> now = choose(shared, ideal);
      if (is_infinite(now.scale) || is_infinite(now.min)) return now;
      const float now_error = error(now);
      if (now_error < best_error) {
        best_error = now_error;
        best = now;
      }
      shared = refit(now);
    }
    return best;
  }

 private:
  static constexpr std::size_t kSize = 256 / Groups;

  float group_error(std::size_t g, Affine fit) const noexcept {
    return affine_error(x_ + g * kSize, w_ + g * kSize, kSize, Top, fit);
  }

  static int near(float ideal, float shared) noexcept {
    if (shared == 0.0F) return 0;
    return static_cast<int>(std::fmin(std::round(ideal / shared), Most));
  }

  /// Each group's best factors near its ideal ones.
  GroupAffines<Groups> choose(Affine shared,
                              const std::array<Affine, Groups>& ideal) const noexcept {
    GroupAffines<Groups> result;
    result.scale = f32_to_f16(std::fmax(shared.scale, 0.0F));
    result.min = f32_to_f16(std::fmax(shared.min, 0.0F));
    const Affine rounded{f16_to_f32(result.scale), f16_to_f32(result.min)};
    for (std::size_t g = 0; g < Groups; ++g) {
      const int k0 = near(ideal[g].scale, rounded.scale);
      const int m0 = near(ideal[g].min, rounded.min);
      float least = group_error(g, {});
      for (int k = k0 > 0 ? k0 - 1 : 0; k <= k0 + 1 && k <= Most; ++k) {
        for (int m = m0 > 0 ? m0 - 1 : 0; m <= m0 + 1 && m <= Most; ++m) {
          const float e = group_error(
              g, {rounded.scale * static_cast<float>(k), rounded.min * static_cast<float>(m)});
          if (!(e < least)) continue;
          least = e;
          result.k[g] = k;
          result.m[g] = m;
        }
      }
    }
    return result;
  }

  float error(const GroupAffines<Groups>& affines) const noexcept {
    float sum = 0.0F;
    for (std::size_t g = 0; g < Groups; ++g) sum += group_error(g, affines.group(g));
    return sum;
  }

  Affine refit(const GroupAffines<Groups>& affines) const noexcept {
    AffineSums all;
    for (std::size_t g = 0; g < Groups; ++g) {
      AffineSums sums = affine_sums(x_ + g * kSize, w_ + g * kSize, kSize, Top, affines.group(g));
      const auto k = static_cast<float>(affines.k[g]);
      const auto m = static_cast<float>(affines.m[g]);
      all += {sums.aa * k * k, sums.ab * k * m, sums.bb * m * m, sums.xa * k, sums.xb * m};
    }
    return all.solve();
  }

  const float* x_;
  const float* w_;
};

/// The level numbers 0 to `top` of a group, as its decoder will use them.
inline void affine_values(const float* x, std::size_t n, Affine fit, int top,
                          std::uint8_t* q) noexcept {
  const float factor = fit.scale != 0.0F ? 1.0F / fit.scale : 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    const float value =
        std::fmin(std::fmax((x[i] + fit.min) * factor, 0.0F), static_cast<float>(top));
    q[i] = static_cast<std::uint8_t>(std::nearbyint(value));
  }
}

}  // namespace tacet::codec
