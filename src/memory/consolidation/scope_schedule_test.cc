#include "memory/consolidation/scope_schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;

PendingFact fact_of(const std::string& id, std::vector<std::string> tags,
                    ObservationScopes scopes = {}) {
  PendingFact fact{.id = {id}, .tags = Tags(std::move(tags)), .scopes = std::move(scopes)};
  fact.scopes_left = resolve_scopes(fact.tags, fact.scopes);
  return fact;
}

std::vector<std::string> ids_of(const std::optional<ScopeBatch>& batch) {
  std::vector<std::string> ids;
  if (!batch) return {"no batch"};
  for (const MemoryId& id : batch->facts)
    ids.push_back(id.text);
  return ids;
}

TimePoint at_ms(int64_t ms) {
  return TimePoint(std::chrono::milliseconds(ms));
}

constexpr TimePoint kNow = {};

TEST(ScopeSchedule, HandsOutTheFactsOfAScopeInTheirOrderOneBatchAfterTheOther) {
  ScopeSchedule schedule(2, 8);
  for (const auto* id : {"1", "2", "3"})
    schedule.add(fact_of(id, {"a"}));
  const auto first = schedule.next(kNow);
  EXPECT_THAT(ids_of(first), ElementsAre("1", "2"));
  EXPECT_EQ(first->number, 1);
  EXPECT_EQ(first->scope, Tags({"a"}));
  EXPECT_FALSE(schedule.next(kNow)) << "the scope has a batch in flight";
  EXPECT_EQ(schedule.passes_left(), 3);
  schedule.done(*first);
  EXPECT_EQ(schedule.passes_left(), 1);
  const auto second = schedule.next(kNow);
  EXPECT_THAT(ids_of(second), ElementsAre("3"));
  EXPECT_EQ(second->number, 2);
  schedule.done(*second);
  EXPECT_TRUE(schedule.is_done());
}

TEST(ScopeSchedule, RunsScopesSideBySideUpToTheBound) {
  ScopeSchedule schedule(8, 4);
  for (int i = 0; i < 8; ++i)
    schedule.add(fact_of(std::to_string(i), {"tag" + std::to_string(i)}));
  std::vector<ScopeBatch> batches;
  while (auto batch = schedule.next(kNow))
    batches.push_back(*batch);
  EXPECT_EQ(batches.size(), 4u);
  EXPECT_EQ(schedule.in_flight(), 4);
  schedule.done(batches[1]);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("4"));
}

TEST(ScopeSchedule, FactsWithDifferentTagsNeverShareABatch) {
  ScopeSchedule schedule(8, 8);
  const ObservationScopes shared{.kind = ScopeKind::kShared, .listed = {}};
  schedule.add(fact_of("1", {"a"}, shared));
  schedule.add(fact_of("2", {"b"}, shared));
  schedule.add(fact_of("3", {"a"}, shared));
  const auto first = schedule.next(kNow);
  EXPECT_THAT(ids_of(first), ElementsAre("1", "3")) << "taken from further back";
  EXPECT_EQ(first->scope, Scope());
  EXPECT_FALSE(schedule.next(kNow)) << "both feed the scope without tags";
  schedule.done(*first);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("2"));
}

TEST(ScopeSchedule, FactsWithOtherScopesNeverShareABatch) {
  ScopeSchedule schedule(8, 8);
  schedule.add(fact_of("1", {"a"}));
  schedule.add(
      fact_of("2", {"a"}, {.kind = ScopeKind::kExplicit, .listed = {Tags({"a"}), Tags({"b"})}}));
  const auto first = schedule.next(kNow);
  EXPECT_THAT(ids_of(first), ElementsAre("1"));
  const auto other = schedule.next(kNow);
  EXPECT_EQ(other->scope, Tags({"b"}));
  EXPECT_THAT(ids_of(other), ElementsAre("2"));
  EXPECT_FALSE(schedule.next(kNow));
}

TEST(ScopeSchedule, EqualScopesShareABatchHoweverTheyAreWritten) {
  ScopeSchedule schedule(8, 8);
  schedule.add(fact_of("1", {"a"}));
  schedule.add(fact_of("2", {"a"}, {.kind = ScopeKind::kExplicit, .listed = {Tags({"a"})}}));
  schedule.add(fact_of("3", {"a"}, {.kind = ScopeKind::kPerTag, .listed = {}}));
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("1", "2", "3"));
}

TEST(ScopeSchedule, OtherGroupsOfAScopeKeepTheTurnOfTheirOldestFact) {
  ScopeSchedule schedule(1, 8);
  const ObservationScopes shared{.kind = ScopeKind::kShared, .listed = {}};
  for (const auto& [id, tag] : std::vector<std::pair<std::string, std::string>>{
           {"1", "a"}, {"2", "b"}, {"3", "a"}, {"4", "c"}, {"5", "b"}})
    schedule.add(fact_of(id, {tag}, shared));
  std::vector<std::string> order;
  while (const auto batch = schedule.next(kNow)) {
    order.push_back(ids_of(batch).front());
    schedule.done(*batch);
  }
  EXPECT_THAT(order, ElementsAre("1", "2", "3", "4", "5"));
}

TEST(ScopeSchedule, PassesOfOneFactAreIndependent) {
  ScopeSchedule schedule(8, 8);
  schedule.add(fact_of("1", {"a", "b"}, {.kind = ScopeKind::kPerTag, .listed = {}}));
  EXPECT_EQ(schedule.passes_left(), 2);
  const auto one = schedule.next(kNow);
  const auto other = schedule.next(kNow);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->scope, other->scope);
  schedule.done(*one);
  EXPECT_FALSE(schedule.is_done());
  schedule.done(*other);
  EXPECT_TRUE(schedule.is_done());
}

TEST(ScopeSchedule, TakesOnlyTheScopesThatAreLeft) {
  ScopeSchedule schedule(8, 8);
  PendingFact fact = fact_of("1", {"a", "b"}, {.kind = ScopeKind::kPerTag, .listed = {}});
  fact.scopes_left = {Tags({"b"})};
  schedule.add(fact);
  fact.scopes_left.clear();
  schedule.add(fact);
  EXPECT_EQ(schedule.passes_left(), 1);
  EXPECT_EQ(schedule.next(kNow)->scope, Tags({"b"}));
}

TEST(ScopeSchedule, HalvesComeNextInTheirScopeInOrder) {
  ScopeSchedule schedule(5, 8);
  for (int i = 1; i <= 7; ++i)
    schedule.add(fact_of(std::to_string(i), {"a"}));
  schedule.split(*schedule.next(kNow));
  const auto half = schedule.next(kNow);
  EXPECT_THAT(ids_of(half), ElementsAre("1", "2", "3"));
  schedule.split(*half);
  for (const auto& ids :
       std::vector<std::vector<std::string>>{{"1", "2"}, {"3"}, {"4", "5"}, {"6", "7"}}) {
    const auto batch = schedule.next(kNow);
    EXPECT_EQ(ids_of(batch), ids);
    EXPECT_EQ(batch->attempts, 0);
    schedule.done(*batch);
  }
  EXPECT_TRUE(schedule.is_done());
}

TEST(ScopeSchedule, ABatchThatIsPutBackComesNextWhenItIsDue) {
  ScopeSchedule schedule(2, 1);
  for (const auto* id : {"1", "2", "3"})
    schedule.add(fact_of(id, {"a"}));
  schedule.add(fact_of("4", {"b"}));
  EXPECT_EQ(schedule.next_due(), std::nullopt);
  schedule.again(*schedule.next(kNow), at_ms(100));
  EXPECT_EQ(schedule.in_flight(), 0);
  EXPECT_EQ(schedule.next_due(), at_ms(100));
  const auto other = schedule.next(at_ms(99));
  EXPECT_THAT(ids_of(other), ElementsAre("4")) << "a scope that waits holds no slot";
  EXPECT_FALSE(schedule.next(at_ms(100))) << "the slot is taken";
  EXPECT_EQ(schedule.next_due(), std::nullopt) << "it waits for a slot, not for a time";
  schedule.done(*other);
  const auto batch = schedule.next(at_ms(100));
  EXPECT_THAT(ids_of(batch), ElementsAre("1", "2"));
  EXPECT_EQ(batch->attempts, 1);
  EXPECT_EQ(batch->number, 3);
  schedule.again(*batch, at_ms(300));
  EXPECT_EQ(schedule.next(at_ms(300))->attempts, 2);
}

TEST(ScopeSchedule, AScopeThatIsHeldBackHoldsNoSlotUntilItIsReleased) {
  ScopeSchedule schedule(2, 1);
  for (const auto* id : {"1", "2", "3"})
    schedule.add(fact_of(id, {"a"}));
  schedule.add(fact_of("4", {"b"}));
  schedule.hold_back(*schedule.next(kNow));
  EXPECT_EQ(schedule.in_flight(), 0);
  EXPECT_EQ(schedule.passes_left(), 4);
  schedule.add(fact_of("5", {"a"}));
  const auto other = schedule.next(kNow);
  EXPECT_THAT(ids_of(other), ElementsAre("4"));
  EXPECT_EQ(other->number, 1);
  schedule.done(*other);
  EXPECT_FALSE(schedule.next(kNow));
  schedule.release(Tags({"a"}));
  const auto batch = schedule.next(kNow);
  EXPECT_THAT(ids_of(batch), ElementsAre("1", "2"));
  EXPECT_EQ(batch->number, 2);
  EXPECT_EQ(batch->attempts, 0);
  schedule.done(*batch);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("3", "5"));
}

TEST(ScopeSchedule, TheScopeWithTheFewestBatchesGoesFirstThenTheOneWithTheOldestFact) {
  ScopeSchedule schedule(1, 2);
  // No scope is so long that it decides when the run ends: 3 of 12 batches each, on 2 slots.
  for (int round = 0; round < 3; ++round) {
    for (const auto* tag : {"a", "b", "c", "d"})
      schedule.add(fact_of(fmt::format("{}{}", tag, round), {tag}));
  }
  const auto a = schedule.next(kNow);
  const auto b = schedule.next(kNow);
  EXPECT_THAT(ids_of(a), ElementsAre("a0"));
  EXPECT_THAT(ids_of(b), ElementsAre("b0"));
  schedule.done(*b);
  const auto c = schedule.next(kNow);
  EXPECT_THAT(ids_of(c), ElementsAre("c0"));
  schedule.done(*c);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("d0"));
  schedule.done(*a);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("a1"));
}

TEST(ScopeSchedule, AScopeThatDecidesWhenTheRunEndsGoesFirst) {
  ScopeSchedule schedule(1, 2);
  for (const auto* id : {"1", "2", "3", "4"})
    schedule.add(fact_of(id, {std::string("short") + id}));
  for (const auto* id : {"5", "6", "7", "8", "9"})
    schedule.add(fact_of(id, {"long"}));
  const auto first = schedule.next(kNow);
  EXPECT_THAT(ids_of(first), ElementsAre("5")) << "5 of 9 batches, on 2 slots";
  const auto second = schedule.next(kNow);
  EXPECT_THAT(ids_of(second), ElementsAre("1")) << "the other slot is for the others";
  schedule.done(*first);
  EXPECT_THAT(ids_of(schedule.next(kNow)), ElementsAre("6"));
}

// --- how long runs take, in batches of unit time ---

struct Shape {
  int64_t total = 0;    // batches
  int64_t longest = 0;  // of one scope
  int64_t makespan = 0;
};

Shape run_in_unit_time(const std::vector<int64_t>& facts_by_scope, int32_t batch_facts_max,
                       int32_t slots, Random& random) {
  ScopeSchedule schedule(batch_facts_max, slots);
  Shape shape;
  std::vector<size_t> scope_of_fact;
  for (size_t scope = 0; scope < facts_by_scope.size(); ++scope) {
    scope_of_fact.insert(scope_of_fact.end(), static_cast<size_t>(facts_by_scope[scope]), scope);
    const int64_t batches = (facts_by_scope[scope] + batch_facts_max - 1) / batch_facts_max;
    shape.total += batches;
    shape.longest = std::max(shape.longest, batches);
  }
  for (size_t i = scope_of_fact.size(); i > 1; --i)
    std::swap(scope_of_fact[i - 1], scope_of_fact[random.below(i)]);
  for (size_t i = 0; i < scope_of_fact.size(); ++i)
    schedule.add(fact_of(std::to_string(i), {"tag" + std::to_string(scope_of_fact[i])}));
  while (!schedule.is_done()) {
    std::vector<ScopeBatch> batches;
    while (auto batch = schedule.next(kNow))
      batches.push_back(*std::move(batch));
    for (const ScopeBatch& batch : batches)
      schedule.done(batch);
    ++shape.makespan;
  }
  return shape;
}

TEST(ScopeSchedule, FortyUnevenScopesKeepEightSlotsBusy) {
  Random random(1);
  std::vector<int64_t> facts;
  for (int64_t i = 0; i < 40; ++i)
    facts.push_back(40 + i * 16);  // 14,080 in all
  const Shape shape = run_in_unit_time(facts, 8, 8, random);
  EXPECT_LE(static_cast<double>(shape.makespan), static_cast<double>(shape.total) / 8 / 0.94);
}

TEST(ScopeSchedule, AScopeWithHalfOfTheFactsIsNeverHeldUp) {
  Random random(2);
  std::vector<int64_t> facts = {7000};
  for (int64_t i = 0; i < 39; ++i)
    facts.push_back(20 + i * 8);  // 6,708 in all
  const Shape shape = run_in_unit_time(facts, 8, 8, random);
  EXPECT_LE(static_cast<double>(shape.makespan), static_cast<double>(shape.longest) / 0.95);
}

TEST(ScopeSchedule, NoShapeTakesLongerThanItsLongestScopeOrItsSlotsAllowByMoreThanABatch) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto slots = static_cast<int32_t>(random.between(1, 8));
    std::vector<int64_t> facts;
    for (int64_t i = random.between(1, 12); i > 0; --i)
      facts.push_back(random.between(1, int64_t{1} << random.between(0, 7)));
    const Shape shape = run_in_unit_time(facts, 3, slots, random);
    const int64_t least = std::max(shape.longest, (shape.total + slots - 1) / slots);
    EXPECT_LE(shape.makespan, least + 1);
  }
}

TEST(ScopeSchedule, NoScopeStarvesBehindLongOnes) {
  // 30 scopes of one to three batches behind three that are long, on 4 slots: a short scope waits
  // for no more batches than the short ones have in the round before it, and the long ones' share.
  constexpr int kShort = 30;
  ScopeSchedule schedule(1, 4);
  Random random(7);
  for (int i = 0; i < 900; ++i)
    schedule.add(fact_of(fmt::format("long{}", i), {fmt::format("long{}", i % 3)}));
  for (int i = 0; i < kShort; ++i) {
    for (int64_t n = random.between(1, 3); n > 0; --n)
      schedule.add(fact_of(fmt::format("short{}.{}", i, n), {fmt::format("short{}", i)}));
  }
  std::map<Scope, int64_t> last;
  int64_t longest_wait = 0;
  while (!schedule.is_done()) {
    std::vector<ScopeBatch> batches;
    while (auto batch = schedule.next(kNow))
      batches.push_back(*std::move(batch));
    for (const ScopeBatch& batch : batches) {
      longest_wait = std::max(longest_wait, batch.number - last[batch.scope]);
      last[batch.scope] = batch.number;
      schedule.done(batch);
    }
  }
  EXPECT_LE(longest_wait, (kShort + 3) * 4);
}

}  // namespace
}  // namespace windrow::memory
