#include "sim_upstream/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace windrow::sim_upstream {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kStart{};

TEST(Slots, UpToTheKneeRowsCostNothingMore) {
  Slots slots(8, 4);
  for (Slots::Key key = 0; key < 4; ++key)
    slots.start(key, milliseconds(100), kStart);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(slots.next_end(), kStart + milliseconds(100));
    slots.take_end();
  }
  EXPECT_EQ(slots.busy(), 0);
}

TEST(Slots, BeyondTheKneeRowsShare) {
  Slots slots(8, 4);
  for (Slots::Key key = 0; key < 8; ++key)
    slots.start(key, milliseconds(100), kStart);
  EXPECT_TRUE(slots.full());
  EXPECT_EQ(slots.next_end(), kStart + milliseconds(200));
}

TEST(Slots, ARowThatComesLaterSlowsTheOthersFromThenOn) {
  Slots slots(2, 1);
  slots.start(1, milliseconds(100), kStart);
  slots.start(2, milliseconds(100), kStart + milliseconds(50));
  // Row 1 has half its work left and now gets half the speed.
  EXPECT_EQ(slots.next_end(), kStart + milliseconds(150));
  EXPECT_EQ(slots.take_end(), 1U);
  EXPECT_EQ(slots.next_end(), kStart + milliseconds(200));
}

TEST(Slots, ACancelledRowLeavesItsShareToTheOthers) {
  Slots slots(2, 1);
  slots.start(1, milliseconds(100), kStart);
  slots.start(2, milliseconds(100), kStart);
  slots.cancel(1, kStart + milliseconds(100));
  EXPECT_EQ(slots.next_end(), kStart + milliseconds(150));
  slots.cancel(7, kStart + milliseconds(120));
  EXPECT_EQ(slots.take_end(), 2U);
  EXPECT_FALSE(slots.next_end().has_value());
}

// The same in steps of a microsecond, the plain way.
struct Stepper {
  struct Row {
    int64_t starts_us;
    double work_us;
    int64_t ended_us = -1;
  };

  static void run(std::vector<Row>& rows, int32_t slots, int32_t knee) {
    std::vector<Row*> running;
    size_t next = 0;
    for (int64_t now = 0; next < rows.size() || !running.empty(); ++now) {
      std::erase_if(running, [&](Row* row) {
        if (row->work_us > 1e-6) return false;
        row->ended_us = now;
        return true;
      });
      while (next < rows.size() && std::ssize(running) < slots && rows[next].starts_us <= now)
        running.push_back(&rows[next++]);
      const double share = std::max(1.0, static_cast<double>(running.size()) / knee);
      for (Row* row : running)
        row->work_us -= 1.0 / share;
    }
  }
};

TEST(Slots, EndsAreThoseOfAStepByStepSimulation) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto slot_count = static_cast<int32_t>(random.between(1, 8));
    const auto knee = static_cast<int32_t>(random.between(1, slot_count));
    std::vector<Stepper::Row> rows;
    for (int64_t at_us = 0; rows.size() < 60;) {
      at_us += random.between(0, 40);
      rows.push_back({at_us, static_cast<double>(random.between(1, 200))});
    }
    std::vector<int64_t> ends_us(rows.size());
    Slots slots(slot_count, knee);
    for (size_t next = 0, ended = 0; ended < rows.size();) {
      const auto at = next < rows.size() ? kStart + std::chrono::microseconds(rows[next].starts_us)
                                         : TimePoint::max();
      const std::optional<TimePoint> end = slots.next_end();
      if (next < rows.size() && !slots.full() && (!end || at < *end)) {
        slots.start(next, std::chrono::microseconds(static_cast<int64_t>(rows[next].work_us)), at);
        ++next;
        continue;
      }
      const size_t row = slots.take_end();
      ends_us[row] = (*end - kStart).count() / 1000;
      ++ended;
      // The next row starts when a slot becomes free.
      while (next < rows.size() && !slots.full() &&
             kStart + std::chrono::microseconds(rows[next].starts_us) <= *end) {
        slots.start(next, std::chrono::microseconds(static_cast<int64_t>(rows[next].work_us)),
                    *end);
        ++next;
      }
    }
    Stepper::run(rows, slot_count, knee);
    for (size_t i = 0; i < rows.size(); ++i) {
      // A step begun is a step done: the plain way ends up to one step later for each row before.
      EXPECT_NEAR(static_cast<double>(ends_us[i]), static_cast<double>(rows[i].ended_us), 70.0)
          << "seed " << seed << " row " << i;
    }
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
