#include "engine/background_turns.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

using std::chrono::milliseconds;

// Steps while clients always have something to compute, and a batch, too.
struct Turns {
  explicit Turns(Duration clients_alone, Duration with_batch)
      : alone(clients_alone), both(with_batch) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      const bool background = turns.take_part();
      const Duration took = background ? both : alone;
      turns.step_took(true, background, false, took);
      time += took;
      ++clients;
      batches += background ? 1 : 0;
    }
  }

  const Duration alone;
  const Duration both;
  BackgroundTurns turns;
  Duration time{};
  int clients = 0;  // steps
  int batches = 0;  // of these
};

TEST(BackgroundTurns, ClientsWaitLittleLongerHoweverDearBatchesAre) {
  for (const int dearer : {2, 5, 40}) {
    Turns run(milliseconds(5), milliseconds(5) * dearer);
    run.steps(10'000);
    const double times = seconds(run.time) / seconds(run.alone * run.clients);
    EXPECT_GT(times, 1.1) << dearer << ": the batch has its part";
    EXPECT_LT(times, 1.16) << dearer;
    EXPECT_GT(run.batches, 0);
  }
}

TEST(BackgroundTurns, WhatCostsClientsNothingTakesPartInAll) {
  Turns run(milliseconds(5), milliseconds(5));
  run.steps(100);
  EXPECT_EQ(run.batches, 99) << "all but the first, which says how long clients take";
}

TEST(BackgroundTurns, OneStepThatHungDoesNotKeepBatchesOutForLong) {
  Turns run(milliseconds(10), milliseconds(10));
  run.steps(10);
  run.turns.step_took(true, true, false, std::chrono::minutes(5));
  int steps = 0;
  for (; !run.turns.take_part(); ++steps)
    run.turns.step_took(true, false, false, milliseconds(10));
  EXPECT_LE(steps, 668);
}

TEST(BackgroundTurns, WhereNobodyWaitsNothingIsOwed) {
  BackgroundTurns turns;
  turns.step_took(true, false, false, milliseconds(5));
  turns.step_took(true, true, false, milliseconds(500));
  EXPECT_FALSE(turns.take_part());
  turns.step_took(false, true, false, milliseconds(500));
  EXPECT_TRUE(turns.take_part());
}

TEST(BackgroundTurns, PromptsOfClientsAreNotTakenForWords) {
  BackgroundTurns turns;
  for (int i = 0; i < 100; ++i) {
    turns.step_took(true, false, false, milliseconds(5));
    turns.step_took(true, false, true, milliseconds(200));
  }
  turns.step_took(true, true, false, milliseconds(25));
  EXPECT_FALSE(turns.take_part());
  // 20 ms are owed, and 15 % of each step pays.
  for (int i = 0; i < 26; ++i)
    turns.step_took(true, false, false, milliseconds(5));
  EXPECT_FALSE(turns.take_part());
  turns.step_took(true, false, false, milliseconds(5));
  EXPECT_TRUE(turns.take_part());
}

}  // namespace
}  // namespace windrow::engine
