// eventually: waits in a test until other threads or a program have brought something about. It
// asks again and again, with pauses in which they get the processor, up to a deadline that is only
// reached if they hang; then the test has failed and says what was seen last.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <ctime>
#include <source_location>
#include <utility>

#include "base/clock.h"

namespace windrow::testing {

constexpr std::chrono::seconds kEventually(120);

// For other loops that ask again and again: a fifth of a millisecond in which the threads that the
// test waits for can run.
inline void pause_between_looks() {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 200'000};
  ::ppoll(nullptr, 0, &pause, nullptr);
}

// The result of `look()` once the matcher `wanted` accepts it, or at the deadline.
template <class Look, class Wanted>
auto eventually(const Look& look, const Wanted& wanted,
                std::source_location place = std::source_location::current()) {
  const SystemClock clock;
  const TimePoint late = clock.now() + kEventually;
  for (;;) {
    auto seen = look();
    using Seen = decltype(seen);
    const ::testing::Matcher<const Seen&> matcher = ::testing::SafeMatcherCast<const Seen&>(wanted);
    if (matcher.Matches(seen)) return seen;
    if (clock.now() > late) {
      ADD_FAILURE_AT(place.file_name(), static_cast<int>(place.line()))
          << "for " << kEventually.count() << " seconds it was not so: it "
          << ::testing::DescribeMatcher<const Seen&>(matcher)
          << "\nlast seen: " << ::testing::PrintToString(seen);
      return seen;
    }
    pause_between_looks();
  }
}

// Until `holds()`; whether it came to be.
template <class Condition>
bool eventually(const Condition& holds,
                std::source_location place = std::source_location::current()) {
  return eventually(holds, ::testing::IsTrue(), place);
}

}  // namespace windrow::testing
