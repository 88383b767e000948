#include "session/samples/kept_leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "session/testing/turn_builder.h"

namespace windrow::session {
namespace {

using ::testing::ElementsAre;
using testing::TurnBuilder;

TurnPtr turn(uint64_t id, uint64_t parent, std::vector<int32_t> prompt) {
  return TurnBuilder{.id = id, .parent = parent, .prompt = std::move(prompt), .sampled = {9}}
      .build();
}

TEST(KeptLeaves, ARetryReplacesTheTurnBeforeIt) {
  const std::vector<TurnPtr> turns = {turn(1, 0, {1}), turn(2, 1, {20}), turn(3, 1, {21})};
  EXPECT_THAT(kept_leaves(turns, RetryRule::kAnyLater), ElementsAre(TurnId(3)));
  EXPECT_THAT(kept_leaves(turns, RetryRule::kNone), ElementsAre(TurnId(3), TurnId(2)));
  EXPECT_THAT(kept_leaves(turns, RetryRule::kSamePrompt), ElementsAre(TurnId(3), TurnId(2)));
}

TEST(KeptLeaves, ARetryWithTheSamePromptReplacesFirstTurnsToo) {
  const std::vector<TurnPtr> turns = {turn(1, 0, {1}), turn(2, 0, {1}), turn(3, 0, {2}),
                                      turn(4, 3, {5}), turn(5, 3, {5})};
  EXPECT_THAT(kept_leaves(turns, RetryRule::kSamePrompt), ElementsAre(TurnId(5), TurnId(2)));
  EXPECT_THAT(kept_leaves(turns, RetryRule::kAnyLater),
              ElementsAre(TurnId(5), TurnId(2), TurnId(1)));
}

TEST(KeptLeaves, ATurnThatWentOnReplacesEarlierOnesAndStays) {
  // 2 was retried by 3, which went on to 4; 5 retries 3, whose conversation stays.
  const std::vector<TurnPtr> turns = {turn(1, 0, {1}), turn(2, 1, {2}), turn(3, 1, {3}),
                                      turn(4, 3, {4}), turn(5, 1, {5})};
  EXPECT_THAT(kept_leaves(turns, RetryRule::kAnyLater), ElementsAre(TurnId(4), TurnId(5)));
}

TEST(KeptLeaves, LongerConversationsComeFirst) {
  const std::vector<TurnPtr> turns = {turn(1, 0, {1}), turn(2, 1, {2}), turn(3, 0, {3}),
                                      turn(4, 0, {4})};
  EXPECT_THAT(kept_leaves(turns, RetryRule::kAnyLater),
              ElementsAre(TurnId(2), TurnId(4), TurnId(3)));
}

TEST(KeptLeaves, RulesHaveNames) {
  for (const RetryRule rule : {RetryRule::kNone, RetryRule::kAnyLater, RetryRule::kSamePrompt})
    EXPECT_EQ(retry_rule_of(to_string(rule)), rule);
  EXPECT_EQ(retry_rule_of("drop"), std::nullopt);
}

}  // namespace
}  // namespace windrow::session
