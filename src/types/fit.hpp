#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tacet::codec {

// Least squares for encoders: which scale (and offset) makes the nearest level values fit n floats
// best, each error squared and weighted. Sums are added in four lanes, in a fixed order.

/// Four lanes.
using Lanes [[gnu::vector_size(16)]] = float;

inline Lanes load_lanes(const float* from) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline Lanes all_lanes(float x) noexcept {
  return Lanes{x, x, x, x};
}
inline float sum_of(Lanes lanes) noexcept {
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
/// What is no number becomes `low`.
inline Lanes clamp_lanes(Lanes x, float low, float high) noexcept {
  x = x > low ? x : all_lanes(low);
  return x > high ? all_lanes(high) : x;
}
/// To the nearest integer, for magnitudes below 2^22: adding 1.5 * 2^23 rounds the fraction away.
inline Lanes round_lanes(Lanes x) noexcept {
  constexpr float magic = 12582912.0F;
  return (x + magic) - magic;
}

/// The integers from `Low` to `High` as levels.
template <int Low, int High>
struct IntegerLevels {
  static constexpr float low = Low, high = High;
  static Lanes nearest(Lanes x) noexcept { return round_lanes(clamp_lanes(x, low, high)); }
  /// Which level, from the lowest on.
  static std::uint8_t number(float level) noexcept {
    return static_cast<std::uint8_t>(level - low);
  }
};

/// Ascending values as levels, the middles between them multiples of a half.
template <std::size_t Count, const std::int8_t (&Values)[Count]>
struct TableLevels {
  static constexpr float low = Values[0], high = Values[Count - 1];
  static Lanes nearest(Lanes x) noexcept {
    const Lanes place = clamp_lanes(2.0F * x + kZero, 0.0F, kCells - 1);
    using Integers [[gnu::vector_size(16)]] = std::int32_t;
    const auto cell = __builtin_convertvector(place, Integers);
    Lanes levels{};
    for (std::size_t i = 0; i < 4; ++i) levels[i] = kLevels[static_cast<std::size_t>(cell[i])];
    return levels;
  }
  static std::uint8_t number(float level) noexcept {
    std::uint8_t i = 0;
    while (static_cast<float>(Values[i]) < level) ++i;
    return i;
  }

 private:
  static constexpr int kCells = 512, kZero = 256;
  /// The nearest level of each interval of a half.
  static constexpr std::array<float, kCells> kLevels = [] {
    std::array<float, kCells> levels{};
    for (int cell = 0; cell < kCells; ++cell) {
      std::size_t i = 0;
      while (i + 1 < Count && cell - kZero >= Values[i] + Values[i + 1]) ++i;
      levels[static_cast<std::size_t>(cell)] = Values[i];
    }
    return levels;
  }();
};

/// What an encoder has to know of its floats before it begins.
struct Magnitudes {
  float peak = 0.0F;         ///< the largest magnitude
  float mean_square = 0.0F;  ///< not a number or infinite if one of the floats is
};
inline Magnitudes magnitudes(const float* x, std::size_t n) noexcept {
  Lanes peak = all_lanes(0.0F);
  Lanes squares = peak;
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes v = load_lanes(x + i);
    const Lanes magnitude = v < 0.0F ? -v : v;
    peak = magnitude > peak ? magnitude : peak;
    squares += v * v;
  }
  Magnitudes result;
  for (std::size_t i = 0; i < 4; ++i) {
    if (peak[i] > result.peak) result.peak = peak[i];
  }
  result.mean_square = sum_of(squares) / static_cast<float>(n);
  return result;
}

/// Weights of the errors: large values matter more, since activations multiply them.
inline void importance(const float* x, std::size_t n, float mean_square, float* weights) noexcept {
  const float factor = 0.5F / mean_square;
  for (std::size_t i = 0; i < n; ++i) weights[i] = 1.0F + factor * x[i] * x[i];
}

/// The numbers of the levels nearest to x / scale.
template <typename Levels>
void level_numbers(const float* x, std::size_t n, float scale, std::uint8_t* numbers) noexcept {
  const float factor = scale != 0.0F ? 1.0F / scale : 0.0F;
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes levels = Levels::nearest(load_lanes(x + i) * factor);
    for (std::size_t j = 0; j < 4; ++j) numbers[i + j] = Levels::number(levels[j]);
  }
}

/// The weighted squared error of x when its values are scale times the nearest level.
template <typename Levels>
float scale_error(const float* x, const float* w, std::size_t n, float scale) noexcept {
  const float factor = scale != 0.0F ? 1.0F / scale : 0.0F;
  Lanes sum = all_lanes(0.0F);
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes v = load_lanes(x + i);
    const Lanes off = v - scale * Levels::nearest(v * factor);
    sum += load_lanes(w + i) * off * off;
  }
  return sum_of(sum);
}

/// Sums for the best scale of given levels q: it is xq / qq, and lessens the error by xq^2 / qq.
struct ScaleSums {
  float xq = 0.0F;
  float qq = 0.0F;
  float scale() const noexcept { return qq > 0.0F ? xq / qq : 0.0F; }
  float gain() const noexcept { return qq > 0.0F ? xq * xq / qq : 0.0F; }
};
template <typename Levels>
ScaleSums scale_sums(const float* x, const float* w, std::size_t n, float scale) noexcept {
  const float factor = scale != 0.0F ? 1.0F / scale : 0.0F;
  Lanes xq = all_lanes(0.0F);
  Lanes qq = xq;
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes v = load_lanes(x + i);
    const Lanes q = Levels::nearest(v * factor);
    const Lanes wq = load_lanes(w + i) * q;
    xq += wq * v;
    qq += wq * q;
  }
  return {sum_of(xq), sum_of(qq)};
}

/// The best scale that a search finds: of `steps` scales of each sign at which the peak of x lies
/// between `from` and `to` times the farthest level, each fitted to the levels that it gives.
template <typename Levels>
float fit_scale(const float* x, const float* w, std::size_t n, int steps, float from,
                float to) noexcept {
  const float peak = magnitudes(x, n).peak;
  if (peak == 0.0F) return 0.0F;
  float best_gain = 0.0F;
  float best = 0.0F;
  const auto consider = [&](float scale) {
    const ScaleSums sums = scale_sums<Levels>(x, w, n, scale);
    if (sums.gain() <= best_gain) return;
    best_gain = sums.gain();
    best = sums.scale();
  };
  for (int i = 0; i < steps; ++i) {
    const float t = from + (to - from) * static_cast<float>(i) / static_cast<float>(steps - 1);
    consider(peak / (t * Levels::low));
    consider(-peak / (t * Levels::low));
  }
  // Fitting and rounding in turn.
  for (int i = 0; i < 2; ++i) consider(best);
  return best;
}

/// A group as scale * q - min with q from 0 to `top` and min of at least 0.
struct Affine {
  float scale = 0.0F;
  float min = 0.0F;
};

/// The weighted squared error of x when it is `fit` with the nearest q.
inline float affine_error(const float* x, const float* w, std::size_t n, float top,
                          Affine fit) noexcept {
  const float factor = fit.scale != 0.0F ? 1.0F / fit.scale : 0.0F;
  Lanes sum = all_lanes(0.0F);
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes v = load_lanes(x + i) + fit.min;
    const Lanes off = v - fit.scale * round_lanes(clamp_lanes(v * factor, 0.0F, top));
    sum += load_lanes(w + i) * off * off;
  }
  return sum_of(sum);
}

/// Sums for the best Affine of given values a and b: x as s * a - m * b.
struct AffineSums {
  float aa = 0.0F, ab = 0.0F, bb = 0.0F, xa = 0.0F, xb = 0.0F;
  AffineSums& operator+=(const AffineSums& other) noexcept {
    aa += other.aa;
    ab += other.ab;
    bb += other.bb;
    xa += other.xa;
    xb += other.xb;
    return *this;
  }
  /// With m of at least 0.
  Affine solve() const noexcept {
    const double determinant = double{aa} * bb - double{ab} * ab;
    if (determinant > 0.0) {
      const double scale = (double{xa} * bb - double{xb} * ab) / determinant;
      const double min = (double{xa} * ab - double{xb} * aa) / determinant;
      if (min > 0.0) return {static_cast<float>(scale), static_cast<float>(min)};
    }
    return {aa > 0.0F ? xa / aa : 0.0F, 0.0F};
  }
};
/// For a group whose a is the nearest q of `fit`, b being 1.
inline AffineSums affine_sums(const float* x, const float* w, std::size_t n, float top,
                              Affine fit) noexcept {
  const float factor = fit.scale != 0.0F ? 1.0F / fit.scale : 0.0F;
  Lanes aa = all_lanes(0.0F);
  Lanes ab = aa, bb = aa, xa = aa, xb = aa;
  for (std::size_t i = 0; i < n; i += 4) {
    const Lanes v = load_lanes(x + i);
    const Lanes weight = load_lanes(w + i);
    const Lanes q = round_lanes(clamp_lanes((v + fit.min) * factor, 0.0F, top));
    aa += weight * q * q;
    ab += weight * q;
    bb += weight;
    xa += weight * v * q;
    xb += weight * v;
  }
  return {sum_of(aa), sum_of(ab), sum_of(bb), sum_of(xa), sum_of(xb)};
}

/// The best Affine that a search over `steps` scales finds.
inline Affine fit_affine(const float* x, const float* w, std::size_t n, float top, int steps,
                         float from, float to) noexcept {
  float low = 0.0F;
  float high = x[0];
  for (std::size_t i = 0; i < n; ++i) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  if (!(high > low)) return {0.0F, -low};
  Affine best{(high - low) / top, -low};
  float best_error = affine_error(x, w, n, top, best);
  const auto consider = [&](Affine start) {
    const Affine fit = affine_sums(x, w, n, top, start).solve();
    const float error = affine_error(x, w, n, top, fit);
    if (!(error < best_error)) return;
    best_error = error;
    best = fit;
  };
  for (int i = 0; i < steps; ++i) {
    const float t = from + (to - from) * static_cast<float>(i) / static_cast<float>(steps - 1);
    consider({(high - low) * t / top, -low});
  }
  for (int i = 0; i < 3; ++i) consider(best);
  return best;
}

}  // namespace tacet::codec
