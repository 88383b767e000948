#include "memory/consolidation/batch_result.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace windrow::memory {
namespace {

using enum FactResult;

constexpr FactResult kAll[] = {kSkipped, kCreated, kUpdated, kMerged, kDeleted, kMultiple, kFailed};

TEST(FactResult, WordsAreReadBack) {
  for (const FactResult result : kAll)
    EXPECT_EQ(fact_result_named(to_string(result)), result);
  EXPECT_EQ(to_string(kMerged), "merged");
  EXPECT_EQ(fact_result_named("Merged"), std::nullopt);
}

TEST(Combined, SkippedGivesWayAndFailedWins) {
  for (const FactResult result : kAll) {
    EXPECT_EQ(combined(kSkipped, result), result);
    EXPECT_EQ(combined(result, kSkipped), result);
    EXPECT_EQ(combined(kFailed, result), kFailed);
    EXPECT_EQ(combined(result, kFailed), kFailed);
    EXPECT_EQ(combined(result, result), result);
  }
}

TEST(Combined, TwoDifferentOtherWordsAreMultiple) {
  for (const FactResult one : {kCreated, kUpdated, kMerged, kDeleted, kMultiple}) {
    for (const FactResult other : {kCreated, kUpdated, kMerged, kDeleted, kMultiple}) {
      if (one != other) {
        EXPECT_EQ(combined(one, other), kMultiple);
      }
    }
  }
}

TEST(Combined, DoesNotDependOnTheOrderOfPasses) {
  for (const FactResult one : kAll) {
    for (const FactResult other : kAll) {
      EXPECT_EQ(combined(one, other), combined(other, one));
      for (const FactResult third : kAll)
        EXPECT_EQ(combined(combined(one, other), third), combined(one, combined(other, third)));
    }
  }
}

const std::vector<MemoryId> kFacts = {{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}};

Accepted example() {
  Accepted accepted;
  accepted.creates = {{.text = "a", .sources = {{"1"}, {"2"}}}};
  accepted.updates = {{.id = {"o"}, .text = "b", .new_sources = {{"2"}, {"3"}}},
                      {.id = {"p"}, .text = "c", .new_sources = {{"4"}}}};
  accepted.joined = {{.observation = {"p"}, .fact = {"4"}}};
  accepted.deletes = {{"q"}};
  accepted.deleted_for = {{"1"}, {"5"}};
  accepted.rejected = {{.kind = RejectedKind::kNoSource, .what = "creates[1]"}};
  return accepted;
}

TEST(ResultsOf, SaysWhatBecameOfEachFact) {
  const std::map<MemoryId, FactResult> expected = {{{"1"}, kCreated}, {{"2"}, kMultiple},
                                                   {{"3"}, kUpdated}, {{"4"}, kMerged},
                                                   {{"5"}, kDeleted}, {{"6"}, kSkipped}};
  EXPECT_EQ(results_of(kFacts, example()), expected);
}

TEST(ResultsOf, CountsFactsOfTheBatchOnly) {
  const std::vector<MemoryId> facts = {{"6"}};
  EXPECT_EQ(results_of(facts, example()), (std::map<MemoryId, FactResult>{{{"6"}, kSkipped}}));
}

TEST(CountsOf, CountsObservationsByWhatIsDoneWithThem) {
  const ConsolidationCounts expected{.facts_processed = 6,
                                     .observations_created = 1,
                                     .observations_updated = 1,
                                     .observations_deleted = 1,
                                     .observations_merged = 1,
                                     .facts_skipped = 1,
                                     .actions_rejected = 1,
                                     .batches = 1};
  EXPECT_EQ(counts_of(kFacts, example()), expected);
}

TEST(ConsolidationCounts, AddsEachMember) {
  const ConsolidationCounts one{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  ConsolidationCounts sum = one;
  sum += one;
  EXPECT_EQ(sum, (ConsolidationCounts{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}));
}

}  // namespace
}  // namespace windrow::memory
