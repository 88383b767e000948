#include "dispatch/refusal_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

// Requests that are sent and end, one after the other.
class EndsInTurn {
 public:
  void answer(int count = 1) {
    for (int i = 0; i < count; ++i)
      watch.answered(watch.sent());
  }

  bool refuse() { return watch.refused(watch.sent()); }

  // How many refusals in a row it takes.
  int until_overloaded() {
    int count = 1;
    while (!refuse() && count < 100)
      ++count;
    return count;
  }

  RefusalWatch watch;
};

TEST(RefusalWatch, AFewRefusalsInARowAreAnOverload) {
  EndsInTurn ends;
  EXPECT_EQ(ends.until_overloaded(), 8) << "nothing is known yet";
  EndsInTurn well;
  well.answer(1000);
  EXPECT_EQ(well.until_overloaded(), 4) << "it never refused anything";
}

TEST(RefusalWatch, RefusalsWithAnswersBetweenThemAreNone) {
  for (const int answers : {4, 9, 19, 99}) {
    EndsInTurn ends;
    for (int i = 0; i < 500; ++i) {
      ends.answer(answers);
      ASSERT_FALSE(ends.refuse()) << "after " << answers << " answers each";
    }
    EXPECT_NEAR(ends.watch.usual_share(), std::max(1.0 / (answers + 1), RefusalWatch::kUsualMin),
                0.02);
  }
}

// So many requests by chance, until the first overload is seen where there is none.
TEST(RefusalWatch, RefusalsByChanceAreSeldomTakenForAnOverload) {
  constexpr int kRequests = 200'000;
  for (const double share : {0.02, 0.05, 0.1, 0.2}) {
    EndsInTurn ends;
    Random random(17);
    int overloads = 0;
    for (int i = 0; i < kRequests; ++i) {
      if (random.chance(share)) {
        overloads += ends.refuse() ? 1 : 0;
      } else {
        ends.answer();
      }
    }
    EXPECT_LE(overloads, kRequests / 10'000) << "a share of " << share;
  }
}

// A share that is above the usual one, not only a row of refusals without an answer.
TEST(RefusalWatch, AShareAboveTheUsualIsAnOverload) {
  for (const double usual : {0.0, 0.05, 0.2}) {
    EndsInTurn ends;
    Random random(5);
    for (int i = 0; i < 2000; ++i) {
      if (random.chance(usual)) {
        ends.refuse();
      } else {
        ends.answer();
      }
    }
    int requests = 0;
    for (bool overloaded = false; !overloaded && requests < 1000; ++requests) {
      if (random.chance(0.7)) {
        overloaded = ends.refuse();
      } else {
        ends.answer();
      }
    }
    EXPECT_LE(requests, 60) << "usually " << usual;
  }
}

TEST(RefusalWatch, MostRequestsRefusedIsNeverUsual) {
  EndsInTurn ends;
  Random random(5);
  int overloads = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (random.chance(0.7)) {
      overloads += ends.refuse() ? 1 : 0;
    } else {
      ends.answer();
    }
  }
  EXPECT_GE(overloads, 200);
  EXPECT_LE(ends.watch.usual_share(), RefusalWatch::kUsualMax);
}

// They were refused for the same reason.
TEST(RefusalWatch, WhatWasOutWhenItWasNoticedIsNoSecondOverload) {
  EndsInTurn ends;
  std::vector<RefusalWatch::Ticket> before;
  for (int i = 0; i < 100; ++i)
    before.push_back(ends.watch.sent());
  int overloads = 0;
  for (const RefusalWatch::Ticket request : before)
    overloads += ends.watch.refused(request) ? 1 : 0;
  EXPECT_EQ(overloads, 1);
}

// With answers that take long, refusals are all that comes back at first.
TEST(RefusalWatch, WhatIsStillOutWasTaken) {
  EndsInTurn ends;
  Random random(3);
  std::vector<RefusalWatch::Ticket> taken;
  for (int i = 0; i < 1000; ++i) {
    const RefusalWatch::Ticket request = ends.watch.sent();
    if (random.chance(0.2)) {
      ASSERT_FALSE(ends.watch.refused(request)) << "after " << i;
    } else {
      taken.push_back(request);
    }
  }
  for (const RefusalWatch::Ticket request : taken)
    ends.watch.answered(request);
  EXPECT_NEAR(ends.watch.usual_share(), 0.2, 0.05);
}

TEST(RefusalWatch, WhatEndsOtherwiseSaysNothing) {
  EndsInTurn ends;
  for (int i = 1; i < 8; ++i) {
    EXPECT_FALSE(ends.refuse());
    ends.watch.ended_otherwise(ends.watch.sent());
  }
  EXPECT_TRUE(ends.refuse());
}

TEST(RefusalWatch, AnOverloadThatGoesOnIsSoonNoticedAgain) {
  EndsInTurn ends;
  const int first = ends.until_overloaded();
  EXPECT_LE(ends.until_overloaded(), (first + 1) / 2);
  ends.until_overloaded();
  ends.answer(200);
  EXPECT_GE(ends.until_overloaded(), 4) << "over and forgotten";
}

}  // namespace
}  // namespace windrow::dispatch
