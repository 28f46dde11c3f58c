#pragma once

namespace tacet::test {

/// By how much limits on time and memory are wider under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_slowdown = 10;
#else
inline constexpr int sanitizer_slowdown = 1;
#endif

}  // namespace tacet::test
