#include "batches/batch_turns.h"

#include <gtest/gtest.h>

#include <list>
#include <set>
#include <string>
#include <vector>

namespace windrow::batches {
namespace {

using std::chrono::seconds;
using enum BatchStatus;

constexpr TimePoint at(int64_t second) {
  return TimePoint{} + seconds(second);
}

class BatchTurnsTest : public ::testing::Test {
 protected:
  TurnCandidate& add(BatchStatus status, std::string key = "", std::string model = "m") {
    const auto number = static_cast<int64_t>(records_.size()) + 1;
    records_.push_back({.number = number,
                        .owner = std::move(key),
                        .state = {.status = status},
                        .models = {std::move(model)}});
    candidates_.push_back({.record = &records_.back()});
    return candidates_.back();
  }
  TurnCandidate& batch(int64_t number) { return candidates_.at(static_cast<size_t>(number - 1)); }

  // Carries out the decision, as the runner does.
  TurnDecision next(int64_t second) {
    const TurnDecision decision = turns_.next(candidates_, at(second));
    for (const int64_t number : decision.close)
      batch(number).working = true;
    if (decision.validate) batch(*decision.validate).working = true;
    for (const int64_t number : decision.run)
      batch(number).working = batch(number).running = true;
    return decision;
  }
  void end_validation(int64_t number) {
    batch(number).working = batch(number).interruptible = false;
    turns_.validation_ended();
  }

  std::set<std::string> awaited_models_;
  std::set<std::string> revoked_keys_;
  BatchTurns turns_{
      2,
      {.waits_for_model =
           [this](const std::string& model) { return awaited_models_.contains(model); },
       .lacks_key =
           [this](const BatchRecord& record) { return revoked_keys_.contains(record.owner); }}};

 private:
  std::list<BatchRecord> records_;
  std::vector<TurnCandidate> candidates_;
};

TEST_F(BatchTurnsTest, ClosesAtOnceAndValidatesOneAtATime) {
  add(kFinalizing);
  add(kValidating);
  add(kCancelling);
  add(kValidating);
  EXPECT_EQ(next(0), (TurnDecision{.close = {1, 3}, .validate = 2}));
  EXPECT_EQ(next(1), TurnDecision{});
  batch(2).working = false;
  turns_.validation_ended();
  batch(2).held_back = true;
  EXPECT_EQ(next(2), (TurnDecision{.validate = 4}));
}

TEST_F(BatchTurnsTest, ValidatesAnotherKeysBatchBeforeTheNextOfTheSame) {
  for (const char* key : {"a", "a", "b"})
    add(kValidating, key);
  EXPECT_EQ(next(0).validate, 1);
  end_validation(1);
  batch(1).held_back = true;
  EXPECT_EQ(next(0).validate, 3);
  end_validation(3);
  batch(3).held_back = true;
  EXPECT_EQ(next(0).validate, 2);
}

TEST_F(BatchTurnsTest, ALongValidationIsInterruptedOnceAndGetsTwiceTheTime) {
  add(kValidating);
  EXPECT_EQ(next(0).validate, 1);
  EXPECT_FALSE(next(9).interrupt) << "no other batch waits";
  add(kValidating);
  EXPECT_FALSE(next(9).interrupt) << "its file is not open yet";
  batch(1).interruptible = true;
  EXPECT_EQ(next(9), (TurnDecision{.interrupt = 1}));
  EXPECT_EQ(next(10), TurnDecision{});
  end_validation(1);
  EXPECT_EQ(next(10).validate, 2) << "it has spent less time";
  end_validation(2);
  batch(2).held_back = true;
  EXPECT_EQ(next(20).validate, 1);
  batch(1).interruptible = true;
  batch(2).held_back = false;
  EXPECT_FALSE(next(23).interrupt);
  EXPECT_EQ(next(24).interrupt, 1);
}

TEST_F(BatchTurnsTest, AsManyAgainRunForKeysThatHaveNoneRunning) {
  for (const char* key : {"a", "a", "a", "b", "c", "d"})
    add(kInProgress, key);
  // Two slots go by the fewest running batches of a key, two more to keys that have none.
  EXPECT_EQ(next(0).run, (std::vector<int64_t>{1, 4, 5, 6}));
  batch(4).running = batch(4).working = false;
  batch(4).held_back = true;
  EXPECT_EQ(next(1).run, std::vector<int64_t>{}) << "its key has one running";
  batch(1).running = batch(1).working = false;
  batch(1).held_back = true;
  EXPECT_EQ(next(1).run, std::vector<int64_t>{2});
}

TEST_F(BatchTurnsTest, PrefersModelsThatNoOtherBatchUses) {
  add(kInProgress, "", "m");
  add(kInProgress, "", "m");
  add(kInProgress, "", "n");
  EXPECT_EQ(next(0).run, (std::vector<int64_t>{1, 3}));
}

TEST_F(BatchTurnsTest, ABatchThatWaitsForItsModelTakesNoSlotAndOneWaitsForEach) {
  awaited_models_ = {"x"};
  add(kInProgress, "", "x");
  add(kInProgress, "", "x");
  EXPECT_EQ(next(0).run, std::vector<int64_t>{1});
  for (int i = 0; i < 3; ++i)
    add(kInProgress);
  EXPECT_EQ(next(1).run, (std::vector<int64_t>{3, 4}));
}

TEST_F(BatchTurnsTest, ARevokedKeyTakesNoSlot) {
  add(kInProgress, "a");
  add(kInProgress, "b");
  add(kInProgress, "b");
  revoked_keys_ = {"a"};
  EXPECT_EQ(next(0).run, (std::vector<int64_t>{2, 3}));
  revoked_keys_ = {"a", "b"};
  add(kInProgress, "c");
  EXPECT_EQ(next(1).run, std::vector<int64_t>{4}) << "running batches of b take no slot";
}

}  // namespace
}  // namespace windrow::batches
