#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tacet {

/// While it lives, the thread rounds to nearest and keeps subnormal numbers, whatever the
/// application chose for it, so that results do not depend on who computes them.
class DefaultFloatMode {
 public:
  DefaultFloatMode() noexcept : before_(get()) { set(standard); }
  ~DefaultFloatMode() { set(before_); }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__) || defined(__i386__)
  using Mode = std::uint32_t;
  static constexpr Mode standard = 0x1f80;  // exceptions masked
  static Mode get() noexcept {
    return _mm_getcsr();
  }
  static void set(Mode mode) noexcept {
    _mm_setcsr(mode);
  }
#elif defined(__aarch64__)
  using Mode = std::uint64_t;
  static constexpr Mode standard = 0;
  static Mode get() noexcept {
    Mode mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set(Mode mode) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(mode));
  }
#else
  using Mode = int;
  static constexpr Mode standard = 0;
  static Mode get() noexcept {
    return 0;
  }
  static void set(Mode) noexcept {}
#endif

  Mode before_;
};

}  // namespace tacet
