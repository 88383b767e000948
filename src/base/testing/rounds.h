// How often a test repeats what it tries with random or many values.
#pragma once

#include <cstdlib>

namespace windrow::testing {

// `all` where WINDROW_SOAK is set, as ./test --full does; otherwise `usual`, a part of it that a
// change can wait for. Seeds count from the same number in both, so a failure is found again.
template <class Number>
Number rounds(Number usual, Number all) {
  return std::getenv("WINDROW_SOAK") != nullptr ? all : usual;
}

}  // namespace windrow::testing
