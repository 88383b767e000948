#include "engine/host/round_robin.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

using std::chrono::milliseconds;

constexpr Next kMore{.kind = Next::Kind::kTurn};
constexpr Next kNothing{.kind = Next::Kind::kWake};
constexpr TimePoint kStart{};

Next until(TimePoint at) {
  return {.kind = Next::Kind::kTime, .at = at};
}

// Ends the turn of the next task like this; returns the task.
std::optional<TaskId> one_turn(RoundRobin& turns, TimePoint now, const Next& next) {
  const std::optional<RoundRobin::Choice> choice = turns.next(now);
  if (!choice) return std::nullopt;
  turns.ended(choice->task, next);
  return choice->task;
}

TEST(RoundRobinTest, ThoseWithSomethingToRunHaveOnePassEach) {
  RoundRobin turns;
  const TaskId a = turns.join({});
  const TaskId b = turns.join({});
  const TaskId c = turns.join({});
  std::vector<TaskId> order;
  for (int i = 0; i < 6; ++i)
    order.push_back(one_turn(turns, kStart, kMore).value());
  EXPECT_EQ(order, (std::vector{a, b, c, a, b, c}));
  EXPECT_EQ(one_turn(turns, kStart, kNothing), a);
  EXPECT_EQ(one_turn(turns, kStart, kMore), b);
  EXPECT_EQ(one_turn(turns, kStart, kMore), c);
  EXPECT_EQ(one_turn(turns, kStart, kMore), b) << "a has nothing";
  turns.wake(a);
  EXPECT_EQ(one_turn(turns, kStart, kMore), a) << "the longest without a turn";
}

TEST(RoundRobinTest, WhoIsWokenDuringItsTurnHasAnother) {
  RoundRobin turns;
  const TaskId a = turns.join({});
  ASSERT_EQ(turns.next(kStart)->task, a);
  turns.wake(a);
  turns.ended(a, kNothing);
  EXPECT_EQ(one_turn(turns, kStart, kNothing), a);
  EXPECT_EQ(one_turn(turns, kStart, kNothing), std::nullopt);
  EXPECT_EQ(turns.next_at(), std::nullopt);
}

TEST(RoundRobinTest, ATimeBringsATurnAndSoDoesAWakeUpOrAnothersPass) {
  RoundRobin turns;
  const TaskId a = turns.join({});
  const TimePoint later = kStart + milliseconds(2);
  ASSERT_EQ(one_turn(turns, kStart, until(later)), a);
  EXPECT_EQ(turns.next_at(), later);
  EXPECT_EQ(one_turn(turns, kStart + milliseconds(1), kMore), std::nullopt);
  EXPECT_EQ(one_turn(turns, later, until(later + milliseconds(2))), a);
  turns.wake(a);
  EXPECT_EQ(one_turn(turns, later, until(later + milliseconds(2))), a);

  const TaskId b = turns.join({});
  ASSERT_EQ(one_turn(turns, later, kNothing), b) << "it had nothing to run";
  EXPECT_EQ(one_turn(turns, later, kMore), std::nullopt);
  turns.wake(b);
  ASSERT_EQ(one_turn(turns, later, kMore), b);
  EXPECT_EQ(one_turn(turns, later, kNothing), a) << "a pass has run";
}

TEST(RoundRobinTest, ATurnSaysWhoWaitsAndHowLongTheyWould) {
  RoundRobin turns;
  const TaskId patient = turns.join(milliseconds(200));
  const TaskId hasty = turns.join(milliseconds(50));
  const TaskId any = turns.join({});
  const auto turn_of = [&](TaskId task, const Next& next) {
    const std::optional<RoundRobin::Choice> choice = turns.next(kStart);
    EXPECT_EQ(choice->task, task);
    turns.ended(task, next);
    return choice->turn;
  };
  EXPECT_EQ(turn_of(patient, kMore).pass_max, milliseconds(50));
  EXPECT_EQ(turn_of(hasty, kNothing).pass_max, milliseconds(200)) << "not its own";
  const Turn third = turn_of(any, kNothing);
  EXPECT_EQ(third.pass_max, milliseconds(200)) << "the hasty one has nothing";
  EXPECT_FALSE(third.alone);
  const Turn last = turn_of(patient, kNothing);
  EXPECT_TRUE(last.alone);
  EXPECT_EQ(last.pass_max, std::nullopt);
}

TEST(RoundRobinTest, WhoLeavesIsNotMissed) {
  RoundRobin turns;
  const TaskId a = turns.join({});
  const TaskId b = turns.join({});
  turns.leave(a);
  EXPECT_EQ(one_turn(turns, kStart, kMore), b);
  EXPECT_EQ(one_turn(turns, kStart, kMore), b);
  turns.leave(b);
  EXPECT_TRUE(turns.empty());
  EXPECT_EQ(one_turn(turns, kStart, kMore), std::nullopt);
}

// Whatever tasks want and whenever they are woken: a ready task waits for no more turns than there
// are others, and none has a turn without a reason.
TEST(RoundRobinTest, SoakedNoTaskStarves) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    RoundRobin turns;
    TimePoint now = kStart;
    struct Watched {
      bool ready = true;
      std::optional<TimePoint> at;
      int waited = 0;
    };
    std::map<TaskId, Watched> tasks;
    for (int step = 0; step < 300; ++step) {
      now += milliseconds(static_cast<int64_t>(random.below(3)));
      if (tasks.size() < 5 && random.chance(0.1)) tasks[turns.join({})];
      if (!tasks.empty() && random.chance(0.03)) {
        const TaskId gone = tasks.begin()->first;
        turns.leave(gone);
        tasks.erase(gone);
      }
      for (auto& [task, watched] : tasks) {
        if (random.chance(0.2)) {
          turns.wake(task);
          watched.ready = true;
        }
        if (watched.at && *watched.at <= now) watched.ready = true;
      }
      const std::optional<RoundRobin::Choice> choice = turns.next(now);
      if (!choice) {
        for (const auto& [task, watched] : tasks)
          ASSERT_FALSE(watched.ready) << task.value();
        continue;
      }
      ASSERT_TRUE(tasks.at(choice->task).ready) << "it had no reason";
      tasks.at(choice->task) = {.ready = false, .at = {}, .waited = 0};
      for (auto& [task, watched] : tasks) {
        if (watched.ready) {
          ASSERT_LT(++watched.waited, 6) << task.value();
        }
      }
      const bool woken = random.chance(0.1);
      if (woken) turns.wake(choice->task);
      const int kind = static_cast<int>(random.below(3));
      const Next next{.kind = static_cast<Next::Kind>(kind), .at = now + milliseconds(2)};
      turns.ended(choice->task, next);
      Watched& watched = tasks.at(choice->task);
      watched.ready = woken || next.kind == Next::Kind::kTurn;
      if (next.kind == Next::Kind::kTime) watched.at = next.at;
      if (next.kind != Next::Kind::kTurn) continue;
      for (auto& [task, other] : tasks) {
        if (task != choice->task && other.at) other.ready = true;
      }
    }
  }
}

}  // namespace
}  // namespace windrow::engine
