// Consolidation as SqliteBankStore does it: pending facts, the effects of batches, stamps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory/bank/testing/bank_fixture.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using testing::fact;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SqliteConsolidationTest : public testing::BankTest {
 protected:
  // Observations that have no embedding.
  std::vector<Memory> bare_observations() {
    Result<std::vector<Memory>> bare = store().without_embedding(100);
    EXPECT_TRUE(bare);
    std::erase_if(*bare, [](const Memory& one) { return one.type != MemoryType::kObservation; });
    return *bare;
  }

  void expect_refused(const BatchEffects& effects, ErrorKind kind, const std::string& part) {
    const std::vector<std::string> before = state();
    const Result<void> refused = store().apply(effects, ++now_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, kind) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr(part));
    EXPECT_EQ(state(), before) << "nothing was applied";
  }

  // What a refused batch may not change.
  std::vector<std::string> state() {
    std::vector<std::string> state = pending();
    const MemoryPage page = store().list({}).value();
    for (const Memory& memory : page.memories) {
      state.push_back(memory.id.text + memory.text + std::to_string(memory.version) +
                      std::to_string(memory.proof_count) +
                      std::to_string(memory.consolidated.value_or(0)));
    }
    return state;
  }

  const Scope scope_ = Scope({"x"});
};

TEST_F(SqliteConsolidationTest, AnObservationHasItsSourcesAndStampsThem) {
  NewFact early = fact("a", {"x"});
  early.times = {.event = 10, .occurred_start = 10, .occurred_end = 12, .mentioned = 20};
  NewFact late = fact("b", {"x"});
  late.times = {.event = 5, .occurred_start = {}, .occurred_end = 30, .mentioned = 15};
  const std::vector<MemoryId> ids = retained({early, late});
  BatchEffects effects = creation("ab", scope_, {ids[0], ids[1], ids[0]});
  ASSERT_TRUE(store().apply(effects, ++now_));
  EXPECT_THAT(pending(), IsEmpty());
  const Memory memory = *store().memory(effects.creates[0].id);
  EXPECT_EQ(memory.type, MemoryType::kObservation);
  EXPECT_THAT(memory.sources, ElementsAre(ids[0], ids[1]));
  EXPECT_EQ(memory.proof_count, 2);
  EXPECT_EQ(memory.tags, scope_);
  EXPECT_EQ(memory.times, widened(early.times, late.times));
  EXPECT_EQ(memory.created, now_);
  EXPECT_EQ(store().memory(ids[0])->consolidated, now_);
  EXPECT_EQ(store().memory(ids[0])->version, 1) << "a stamp is no change";
  EXPECT_EQ(store().bank()->last_consolidated, now_);
  EXPECT_THAT(observations_of(scope_), ElementsAre("ab"));
  EXPECT_THAT(observations_of(Scope()), IsEmpty());
  EXPECT_THAT(observations_of(Scope({"x", "y"})), IsEmpty());
}

TEST_F(SqliteConsolidationTest, UpdatesAddSourcesAndKeepHistory) {
  const MemoryId first = retained_one(fact("a", {"x"}));
  const MemoryId observation = observed("one", scope_, {first});
  ASSERT_TRUE(store().set_embeddings(
      std::vector<BankStore::Embedding>{{{observation, 1}, std::vector<float>{1, 0}}}));
  NewFact more = fact("b", {"x"});
  more.times.mentioned = 99;
  const MemoryId second = retained_one(more);
  BatchEffects effects;
  effects.scope = scope_;
  effects.updates = {{.id = observation, .text = "one", .new_sources = {first, second, second}}};
  effects.facts = {{.id = second, .word = "updated"}};
  effects.witnesses = {{observation, 1}, {second, 1}};
  ASSERT_TRUE(store().apply(effects, ++now_));
  Memory memory = *store().memory(observation);
  EXPECT_THAT(memory.sources, ElementsAre(first, second));
  EXPECT_EQ(memory.version, 2);
  EXPECT_EQ(memory.updated, now_);
  EXPECT_EQ(memory.times.mentioned, 99);
  EXPECT_THAT(memory.embedding, ElementsAre(1, 0)) << "the text is the same";

  const MemoryId third = retained_one(fact("c", {"x"}));
  effects.updates = {{.id = observation, .text = "two", .new_sources = {third}}};
  effects.facts = {{.id = third, .word = "updated"}};
  effects.witnesses = {{observation, 2}};
  ASSERT_TRUE(store().apply(effects, ++now_));
  memory = *store().memory(observation);
  EXPECT_EQ(memory.text, "two");
  EXPECT_EQ(memory.proof_count, 3);
  EXPECT_THAT(memory.embedding, IsEmpty());
  EXPECT_THAT(bare_observations(), SizeIs(1));
  EXPECT_THAT(*store().matching("two", {}, 5), SizeIs(1));
  EXPECT_THAT(*store().matching("one", {}, 5), IsEmpty());

  const std::vector<ObservationChange> history = *store().history(observation);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_EQ(history[0].previous_text, "one");
  EXPECT_EQ(history[0].changed, now_);
  EXPECT_EQ(history[0].previous_tags, scope_);
  EXPECT_EQ(history[0].previous_times.mentioned, 99);
  EXPECT_THAT(history[0].new_sources, ElementsAre(third));
  EXPECT_FALSE(history[1].previous_times.mentioned);
}

TEST_F(SqliteConsolidationTest, HistoryIsCapped) {
  const MemoryId observation = observed("0", scope_, {retained_one(fact("a", {"x"}))});
  BatchEffects effects;
  effects.scope = scope_;
  effects.history_max = 3;
  for (int i = 1; i <= 6; ++i) {
    effects.updates = {{.id = observation, .text = std::to_string(i), .new_sources = {}}};
    ASSERT_TRUE(store().apply(effects, ++now_));
  }
  std::vector<std::string> previous;
  for (const ObservationChange& change : *store().history(observation))
    previous.push_back(change.previous_text);
  EXPECT_THAT(previous, ElementsAre("5", "4", "3"));
  effects.history_max = 0;
  effects.updates[0].text = "7";
  ASSERT_TRUE(store().apply(effects, ++now_));
  EXPECT_THAT(*store().history(observation), SizeIs(3));
}

TEST_F(SqliteConsolidationTest, AStaleWitnessAppliesNothing) {
  const std::vector<MemoryId> ids = retained({fact("a", {"x"}), fact("b", {"x"})});
  const MemoryId observation = observed("of a", scope_, {ids[0]});
  BatchEffects effects = creation("of b", scope_, {ids[1]});
  effects.witnesses = {{observation, 2}};
  expect_refused(effects, ErrorKind::kConflict, "has version 1, not 2");
  effects.witnesses = {{MemoryId{"none"}, 1}};
  expect_refused(effects, ErrorKind::kConflict, "is gone");
  ASSERT_TRUE(store().edit_memory(
      ids[1],
      [](Memory& memory) -> Result<void> {
        memory.invalidated = 5;
        return {};
      },
      ++now_));
  effects.witnesses = {{ids[1], 2}};
  expect_refused(effects, ErrorKind::kConflict, "is invalid");
}

TEST_F(SqliteConsolidationTest, OnlyTheScopeAndTheBatchAreReached) {
  const std::vector<MemoryId> ids =
      retained({fact("a", {"x"}), fact("b", {"x", "y"}), fact("c", {}), fact("d", {"x"})});
  const MemoryId larger = observed("larger", Scope({"x", "y"}), {ids[1]});
  const MemoryId untagged = observed("untagged", Scope(), {ids[2]});
  BatchEffects effects = creation("mine", scope_, {ids[0]});
  for (const MemoryId& other : {larger, untagged, ids[3]}) {
    effects.updates = {{.id = other, .text = "changed", .new_sources = {ids[0]}}};
    expect_refused(effects, ErrorKind::kConflict, "is no observation of the scope [\"x\"]");
    effects.updates.clear();
    effects.deletes = {other};
    expect_refused(effects, ErrorKind::kConflict, "is no observation of the scope [\"x\"]");
    effects.deletes.clear();
  }
  effects.deletes = {MemoryId{"none"}};
  expect_refused(effects, ErrorKind::kConflict, "is gone");
  effects.deletes.clear();

  effects.creates[0].sources = {ids[0], ids[3]};
  expect_refused(effects, ErrorKind::kInvalid, "is no fact of this batch");
  effects.creates[0].sources = {};
  expect_refused(effects, ErrorKind::kInvalid, "has no source");
  effects.creates[0].sources = {ids[0]};
  effects.creates[0].id = larger;
  expect_refused(effects, ErrorKind::kConflict, "already");
  effects.creates[0].id = new_id();
  effects.facts.push_back({.id = ids[1], .word = "skipped"});
  expect_refused(effects, ErrorKind::kConflict, "is no fact of the scope [\"x\"]");
  effects.facts.back().id = MemoryId{"none"};
  expect_refused(effects, ErrorKind::kConflict, "is gone");
  effects.facts.pop_back();
  EXPECT_TRUE(store().apply(effects, ++now_));
}

// A worker whose operation was taken over comes with a batch that the other worker has done.
TEST_F(SqliteConsolidationTest, ABatchIsDoneOnce) {
  const MemoryId id = retained_one(fact("a", {"x"}));
  const BatchEffects late = creation("again", scope_, {id});
  (void)observed("once", scope_, {id});
  expect_refused(late, ErrorKind::kConflict, "was consolidated in the scope [\"x\"] already");
}

TEST_F(SqliteConsolidationTest, TheLimitHoldsAfterDeletes) {
  const std::vector<MemoryId> ids =
      retained({fact("a", {"x"}), fact("b", {"x"}), fact("c", {"x"})});
  const MemoryId first = observed("1", scope_, {ids[0]});
  (void)observed("2", scope_, {ids[1]});
  BatchEffects effects = creation("3", scope_, {ids[2]});
  effects.observations_max = 2;
  expect_refused(effects, ErrorKind::kUnavailable, "its limit is 2");
  effects.deletes = {first};
  ASSERT_TRUE(store().apply(effects, ++now_));
  EXPECT_THAT(observations_of(scope_), ElementsAre("2", "3"));
  EXPECT_THAT(pending(), IsEmpty()) << "the sources of a deleted one are done";

  BatchEffects update;
  update.scope = scope_;
  update.updates = {{.id = effects.creates[0].id, .text = "4", .new_sources = {}}};
  update.observations_max = 1;
  EXPECT_TRUE(store().apply(update, ++now_)) << "nothing is added";
}

TEST_F(SqliteConsolidationTest, TwinsAreFoldedWithTheirSources) {
  const std::vector<MemoryId> ids = retained({fact("a", {"x"}), fact("b", {"x"})});
  const MemoryId kept = observed("tea", scope_, {ids[0]});
  const MemoryId twin = observed("Tea", scope_, {ids[1]});
  BatchEffects fold;
  fold.scope = scope_;
  fold.deletes = {twin};
  fold.updates = {{.id = kept, .text = "tea", .new_sources = {ids[1]}}};
  fold.witnesses = {{kept, 1}, {twin, 1}};
  ASSERT_TRUE(store().apply(fold, ++now_));
  EXPECT_THAT(store().memory(kept)->sources, ElementsAre(ids[0], ids[1]));
  EXPECT_THAT(observations_of(scope_), ElementsAre("tea"));
  EXPECT_THAT(pending(), IsEmpty());
}

TEST_F(SqliteConsolidationTest, AFactIsStampedWithItsLastScope) {
  NewFact wide = fact("a", {"x", "y"});
  wide.scopes.kind = ScopeKind::kAllCombinations;
  const MemoryId id = retained_one(wide);
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"][\"x\",\"y\"][\"y\"]"));
  BatchEffects effects;
  effects.facts = {{.id = id, .word = "skipped"}, {.id = id, .word = "skipped"}};
  effects.scope = Scope({"x", "y"});
  ASSERT_TRUE(store().apply(effects, ++now_));
  effects.scope = Scope({"x"});
  ASSERT_TRUE(store().apply(effects, ++now_));
  EXPECT_THAT(pending(), ElementsAre("a[\"y\"]"));
  EXPECT_FALSE(store().memory(id)->consolidated);
  file_.reopen();
  EXPECT_THAT(pending(), ElementsAre("a[\"y\"]"));
  effects.scope = Scope({"y"});
  ASSERT_TRUE(store().apply(effects, ++now_));
  EXPECT_EQ(store().memory(id)->consolidated, now_);
}

TEST_F(SqliteConsolidationTest, RepeatedFactsAreFoundByTheirText) {
  const std::vector<MemoryId> ids =
      retained({fact("Ana  likes\ttea ", {"x"}), fact("Ana likes tea", {"x"}),
                fact("ana likes tea", {"x"}), fact("Ana likes tea", {})});
  const MemoryId observation = observed("tea", scope_, {ids[1], ids[0]});
  (void)observed("other", Scope(), {ids[3]});
  const std::vector<std::string> texts = {"Ana likes\n tea", "Ana likes tea", "Ana likes te",
                                          "ana likes tea"};
  const std::vector<BankStore::Repeated> repeated = *store().repeated(scope_, texts);
  ASSERT_THAT(repeated, SizeIs(1));
  EXPECT_EQ(repeated[0].fact, ids[1]) << "the one that was told last";
  EXPECT_EQ(repeated[0].observation, observation);
  EXPECT_THAT(*store().repeated(Scope({"y"}), texts), IsEmpty());
}

TEST_F(SqliteConsolidationTest, SourcesOfAnEarlierTextAreNotRepeated) {
  const MemoryId first = retained_one(fact("tea", {"x"}));
  const MemoryId observation = observed("likes tea", scope_, {first});
  const MemoryId second = retained_one(fact("coffee now", {"x"}));
  BatchEffects effects;
  effects.scope = scope_;
  effects.updates = {{.id = observation, .text = "likes coffee", .new_sources = {second}}};
  effects.facts = {{.id = second, .word = "updated"}};
  ASSERT_TRUE(store().apply(effects, ++now_));
  const std::vector<std::string> texts = {"tea", "coffee now"};
  const std::vector<BankStore::Repeated> repeated = *store().repeated(scope_, texts);
  ASSERT_THAT(repeated, SizeIs(1));
  EXPECT_EQ(repeated[0].fact, second);
}

TEST_F(SqliteConsolidationTest, WhatWasOtherwiseBeforeTheLastSourceIsNotRepeated) {
  const std::vector<MemoryId> ids =
      retained({fact("in Paris", {"x"}), fact("in Rome", {"x"}), fact("in Rome", {"x"})});
  (void)observed("lives in Rome", scope_, {ids[1], ids[0]});
  const std::vector<std::string> texts = {"in Paris", "in Rome"};
  const std::vector<BankStore::Repeated> repeated = *store().repeated(scope_, texts);
  ASSERT_THAT(repeated, SizeIs(1)) << "a return to Paris is news";
  EXPECT_EQ(repeated[0].fact, ids[1]);
}

TEST_F(SqliteConsolidationTest, FailedFactsAreMarkedAndRecovered) {
  const std::vector<MemoryId> ids =
      retained({fact("a", {"x"}), fact("b", {"x"}), fact("c", {"x"})});
  (void)observed("of c", scope_, {ids[2]});
  std::vector<Witness> facts = seen({ids[0], ids[2]});
  facts.push_back({.id = MemoryId{"none"}, .version = 1});
  ASSERT_TRUE(store().mark_failed(facts, "too long", 50));
  EXPECT_THAT(pending(), ElementsAre("b[\"x\"]"));
  EXPECT_EQ(store().memory(ids[0])->consolidation_failed, 50);
  EXPECT_EQ(store().memory(ids[0])->failure, "too long");
  EXPECT_FALSE(store().memory(ids[2])->consolidation_failed) << "it is done";
  EXPECT_EQ(store().recover_failed(60).value(), 1);
  EXPECT_EQ(store().recover_failed(60).value(), 0);
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"]", "b[\"x\"]"));
  EXPECT_EQ(store().memory(ids[0])->failure, "");
}

TEST_F(SqliteConsolidationTest, AFactThatWasEditedSinceIsNotMarkedFailed) {
  const std::vector<MemoryId> ids = retained({fact("a", {"x"})});
  const std::vector<Witness> facts = seen(ids);
  ASSERT_TRUE(store().edit_memory(
      ids[0],
      [](Memory& memory) -> Result<void> {
        memory.text = "b";
        return {};
      },
      40));
  ASSERT_TRUE(store().mark_failed(facts, "too long", 50));
  EXPECT_THAT(pending(), ElementsAre("b[\"x\"]"));
}

TEST_F(SqliteConsolidationTest, EmbeddingsComeLaterAndOnlyForTheSameText) {
  const MemoryId observation = observed("tea", scope_, {retained_one(fact("a", {"x"}))});
  ASSERT_THAT(bare_observations(), SizeIs(1));
  ASSERT_TRUE(store().set_embeddings(
      std::vector<BankStore::Embedding>{{{observation, 7}, std::vector<float>{1, 0}}}));
  ASSERT_TRUE(store().set_embeddings(
      std::vector<BankStore::Embedding>{{{MemoryId{"none"}, 1}, std::vector<float>{1, 0}}}));
  EXPECT_THAT(bare_observations(), SizeIs(1));
  ASSERT_TRUE(store().set_embeddings(
      std::vector<BankStore::Embedding>{{{observation, 1}, std::vector<float>{1, 0}}}));
  EXPECT_THAT(bare_observations(), IsEmpty());
  EXPECT_EQ(store().memory(observation)->version, 1);
  ASSERT_THAT(*store().nearest(std::vector<float>{1, 0}, {}, 5), SizeIs(1));
  EXPECT_EQ(store()
                .set_embeddings(
                    std::vector<BankStore::Embedding>{{{observation, 1}, std::vector<float>{1}}})
                .error()
                .kind,
            ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::memory
