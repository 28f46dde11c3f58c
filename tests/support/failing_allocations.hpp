#pragma once

#include <gtest/gtest.h>

#include <cstdio>

/// Allocations of this thread until one fails; negative: none does. A program that links
/// failing_allocations.cpp allocates through it, its shared libraries too.
extern thread_local long allocations_left;
extern thread_local long allocations_made;

namespace tacet::test {

/// Lets each allocation of `body` on this thread fail in turn, and the ones behind it succeed.
/// `body` says whether it succeeded; it must do so in the end, and must not throw. Returns how many
/// allocations there are.
template <typename Body>
long fail_each(const char* what, Body&& body, long step = 1) {
  for (long n = 0;; n += step) {
    allocations_left = n;
    const bool succeeded = body();
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    if (!reached) {
      EXPECT_TRUE(succeeded) << what << ": no allocation failed";
      std::printf("%s: up to %ld allocations\n", what, n);
      return n;
    }
  }
}

}  // namespace tacet::test
