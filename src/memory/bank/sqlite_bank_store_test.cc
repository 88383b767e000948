#include "memory/bank/sqlite_bank_store.h"

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
using ::testing::UnorderedElementsAre;

class SqliteBankStoreTest : public testing::BankTest {
 protected:
  // A document "d" of two chunks with a fact each.
  std::vector<MemoryId> retained_document() {
    Retained retained;
    retained.documents.push_back(
        {.id = "d", .text = "one. two.", .tags = Tags({"t"}), .metadata = {{"k", "v"}}});
    retained.chunks = {{.id = "d_0", .document_id = "d", .index = 0, .text = "one."},
                       {.id = "d_1", .document_id = "d", .index = 1, .text = "two."}};
    for (const std::string place : {"0", "1"}) {
      NewFact part = fact("fact " + place, {"x"});
      part.document_id = "d";
      part.chunk_id = "d_" + place;
      retained.facts.push_back(part);
    }
    return *store().retain(retained, ++now_);
  }

  Result<Memory> edited(const MemoryId& id, const std::function<void(Memory&)>& edit) {
    return store().edit_memory(
        id,
        [&](Memory& memory) -> Result<void> {
          edit(memory);
          return {};
        },
        ++now_);
  }
};

// --- retain -----------------------------------------------------------------------------------

TEST_F(SqliteBankStoreTest, FactsComeBackAsTheyWereRetained) {
  NewFact whole = fact("Ana likes tea", {"user:1", "tea"});
  whole.type = MemoryType::kExperience;
  whole.context = "at lunch";
  whole.times = {.event = 5, .occurred_start = 4, .occurred_end = 6, .mentioned = 7};
  whole.scopes = {.kind = ScopeKind::kExplicit, .listed = {Scope({"tea"}), Scope()}};
  whole.metadata = {{"source", "chat \"1\""}};
  whole.entities = {"Ana", "tea"};
  whole.document_id = "d";
  whole.chunk_id = "c";
  whole.embedding = {0.6F, 0.8F};
  const std::vector<MemoryId> ids = retained({whole, fact("Bo likes coffee", {})});
  ASSERT_THAT(ids, SizeIs(2));
  for (int round = 0; round < 2; ++round) {
    const Memory memory = *store().memory(ids[0]);
    EXPECT_EQ(memory.type, whole.type);
    EXPECT_EQ(memory.text, whole.text);
    EXPECT_EQ(memory.context, whole.context);
    EXPECT_EQ(memory.times, whole.times);
    EXPECT_EQ(memory.tags, whole.tags);
    EXPECT_EQ(memory.scopes, whole.scopes);
    EXPECT_EQ(memory.metadata, whole.metadata);
    EXPECT_EQ(memory.entities, whole.entities);
    EXPECT_EQ(memory.document_id, "d");
    EXPECT_EQ(memory.chunk_id, "c");
    EXPECT_EQ(memory.embedding, whole.embedding);
    EXPECT_EQ(memory.created, now_);
    EXPECT_EQ(memory.updated, now_);
    EXPECT_EQ(memory.version, 1);
    EXPECT_EQ(memory.proof_count, 1);
    EXPECT_FALSE(memory.consolidated || memory.edited || memory.invalidated);
    file_.reopen();
  }
  EXPECT_EQ(store().memory(MemoryId{"none"}).error().kind, ErrorKind::kNotFound);
  const std::vector<MemoryId> asked = {ids[1], MemoryId{"none"}, ids[0], ids[1]};
  const std::vector<Memory> found = *store().memories(asked);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, ids[1]);
  EXPECT_EQ(found[1].id, ids[0]);
}

TEST_F(SqliteBankStoreTest, TheFirstEmbeddingDecidesTheLength) {
  NewFact first = fact("a", {});
  first.embedding = {1, 0, 0};
  NewFact other = fact("b", {});
  other.embedding = {1, 0};
  const Result<std::vector<MemoryId>> mixed = store().retain({.facts = {first, other}}, 1);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(store().bank()->embedding_size, 0) << "nothing was stored";
  EXPECT_EQ(store().list({})->total, 0);

  (void)retained({first, fact("without", {})});
  EXPECT_EQ(store().bank()->embedding_size, 3);
  Retained late{.facts = {fact("c", {}), other}, .consolidate = true};
  late.documents.push_back({.id = "d"});
  const Result<std::vector<MemoryId>> refused = store().retain(late, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("has 2 numbers"));
  EXPECT_THAT(refused.error().message, HasSubstr("have 3"));
  EXPECT_EQ(store().list({})->total, 2);
  EXPECT_EQ(store().document("d").error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(*store().operations({}, {}, 10, 0, nullptr), IsEmpty());

  NewFact broken = fact("d", {});
  broken.embedding = {1, 0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(store().retain({.facts = {broken}}, 3).error().kind, ErrorKind::kInvalid);
  NewFact observation = fact("e", {});
  observation.type = MemoryType::kObservation;
  EXPECT_EQ(store().retain({.facts = {observation}}, 3).error().kind, ErrorKind::kInvalid);
}

TEST_F(SqliteBankStoreTest, ARetainAddsOnePendingConsolidation) {
  const Retained retained{.facts = {fact("a", {})}, .consolidate = true};
  ASSERT_TRUE(store().retain(retained, 5));
  ASSERT_TRUE(store().retain(retained, 6));
  std::vector<Operation> operations = *store().operations({}, {}, 10, 0, nullptr);
  ASSERT_THAT(operations, SizeIs(1));
  EXPECT_EQ(operations[0].type, OperationType::kConsolidation);
  EXPECT_EQ(operations[0].created, 5);
  ASSERT_TRUE(*store().claim(OperationType::kConsolidation, "w", 7, 100));
  ASSERT_TRUE(store().retain(retained, 8));
  int64_t total = 0;
  operations = *store().operations(OperationStatus::kPending, {}, 10, 0, &total);
  EXPECT_EQ(total, 1) << "one that runs may have passed the new fact";
}

TEST_F(SqliteBankStoreTest, DocumentsHaveChunksThatAreReplaced) {
  const std::vector<MemoryId> ids = retained_document();
  const Document document = *store().document("d");
  EXPECT_EQ(document.text, "one. two.");
  EXPECT_EQ(document.tags, Tags({"t"}));
  EXPECT_EQ(document.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(document.memory_count, 2);
  EXPECT_EQ(document.created, now_);
  EXPECT_THAT(*store().chunks("d"), SizeIs(2));
  EXPECT_EQ(store().chunk("d_1")->text, "two.");
  EXPECT_EQ(store().chunk("d_7").error().kind, ErrorKind::kNotFound);

  // The chunk exists: all or nothing.
  Retained again;
  again.facts = {fact("new", {})};
  again.chunks = {{.id = "d_1", .document_id = "d", .index = 1, .text = "three."}};
  EXPECT_EQ(store().retain(again, ++now_).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(store().list({})->total, 2);

  const MemoryId observation = observed("of both", Scope({"x"}), ids);
  again.facts[0].document_id = "d";
  again.facts[0].chunk_id = "d_1";
  again.chunks_gone = {"d_1"};
  again.documents = {{.id = "d", .text = "one. three."}};
  ASSERT_TRUE(store().retain(again, ++now_));
  EXPECT_FALSE(exists(ids[1]));
  EXPECT_FALSE(exists(observation));
  EXPECT_THAT(pending(), ElementsAre("fact 0[\"x\"]", "new[]"));
  EXPECT_EQ(store().chunk("d_1")->text, "three.");
  EXPECT_EQ(store().document("d")->text, "one. three.");
  EXPECT_EQ(store().document("d")->created, document.created);
  EXPECT_EQ(store().document("d")->updated, now_);

  EXPECT_EQ(store().delete_document("d", ++now_).value(), 2);
  EXPECT_EQ(store().list({})->total, 0);
  EXPECT_THAT(*store().chunks("d"), IsEmpty());
  EXPECT_EQ(store().delete_document("d", ++now_).error().kind, ErrorKind::kNotFound);
}

TEST_F(SqliteBankStoreTest, DocumentsAreListed) {
  for (const std::string id : {"Report 1", "report_2", "letter"}) {
    Retained retained;
    retained.documents.push_back({.id = id});
    ASSERT_TRUE(store().retain(retained, ++now_));
  }
  const auto listed = [&](std::string_view text, int64_t limit, int64_t offset) {
    int64_t total = 0;
    std::vector<std::string> ids;
    for (const Document& document : *store().documents(text, limit, offset, &total))
      ids.push_back(document.id);
    ids.push_back(std::to_string(total));
    return ids;
  };
  EXPECT_THAT(listed("", 2, 0), ElementsAre("letter", "report_2", "3"));
  EXPECT_THAT(listed("", 2, 2), ElementsAre("Report 1", "3"));
  EXPECT_THAT(listed("REPORT", 9, 0), ElementsAre("report_2", "Report 1", "2"));
  EXPECT_THAT(listed("t_2", 9, 0), ElementsAre("report_2", "1")) << "no wildcard";
}

// --- changes ----------------------------------------------------------------------------------

TEST_F(SqliteBankStoreTest, AnEditedFactIsConsolidatedAgainWithItsFellows) {
  const std::vector<MemoryId> ids =
      retained({fact("a", {"x"}), fact("b", {"x"}), fact("c", {"x"})});
  const MemoryId observation = observed("of a and b", Scope({"x"}), {ids[0], ids[1]});
  (void)observed("of c", Scope({"x"}), {ids[2]});
  EXPECT_THAT(pending(), IsEmpty());

  // What does not change the meaning changes nothing else.
  Memory memory = *edited(ids[0], [](Memory& one) { one.metadata["k"] = "v"; });
  EXPECT_EQ(memory.version, 1);
  EXPECT_EQ(memory.edited, now_);
  EXPECT_TRUE(exists(observation));

  memory = *edited(ids[0], [](Memory& one) { one.text = "A"; });
  EXPECT_EQ(memory.version, 2);
  EXPECT_EQ(memory.updated, now_);
  EXPECT_EQ(store().memory(ids[0])->text, "A");
  EXPECT_FALSE(exists(observation));
  EXPECT_THAT(pending(), ElementsAre("A[\"x\"]", "b[\"x\"]"));
  EXPECT_THAT(observations_of(Scope({"x"})), ElementsAre("of c"));
  EXPECT_EQ(store().history(observation).error().kind, ErrorKind::kNotFound);
}

TEST_F(SqliteBankStoreTest, EachChangeOfMeaningBeginsAgain) {
  const std::vector<std::function<void(Memory&)>> edits = {
      [](Memory& one) { one.text += "!"; },
      [](Memory& one) { one.tags = Tags({"y"}); },
      [](Memory& one) { one.times.occurred_start = 3; },
      [](Memory& one) { one.scopes.kind = ScopeKind::kShared; },
      [](Memory& one) { one.invalidated = 9; },
  };
  for (const auto& edit : edits) {
    const MemoryId id = retained_one(fact("a", {"x"}));
    const MemoryId observation = observed("of a", Scope({"x"}), {id});
    ASSERT_TRUE(edited(id, edit));
    EXPECT_FALSE(exists(observation));
    EXPECT_FALSE(store().memory(id)->consolidated);
    ASSERT_EQ(store().clear({}, ++now_).value(), 1);
  }
}

TEST_F(SqliteBankStoreTest, OnlyThePassOfTheScopeIsDoneAgain) {
  NewFact both = fact("a", {"x", "y"});
  both.scopes.kind = ScopeKind::kPerTag;
  const MemoryId a = retained_one(both);
  const MemoryId b = retained_one(fact("b", {"x"}));
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"][\"y\"]", "b[\"x\"]"));
  (void)observed("y", Scope({"y"}), {a});
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"]", "b[\"x\"]"));
  (void)observed("x", Scope({"x"}), {a, b});
  EXPECT_THAT(pending(), IsEmpty());
  EXPECT_EQ(store().memory(a)->consolidated, now_);
  ASSERT_TRUE(edited(b, [](Memory& one) { one.text = "B"; }));
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"]", "B[\"x\"]"));
  EXPECT_THAT(observations_of(Scope({"y"})), ElementsAre("y"));
  (void)observed("x again", Scope({"x"}), {a, b});
  EXPECT_THAT(pending(), IsEmpty());
}

TEST_F(SqliteBankStoreTest, AnInvalidFactIsNotThereUntilItIsValidAgain) {
  NewFact one = fact("tea", {"x"});
  one.embedding = {1, 0};
  const MemoryId id = retained_one(one);
  ASSERT_THAT(*store().nearest(one.embedding, {}, 5), SizeIs(1));
  ASSERT_TRUE(edited(id, [&](Memory& memory) {
    memory.invalidated = now_;
    memory.invalidation_reason = "wrong";
  }));
  EXPECT_THAT(pending(), IsEmpty());
  EXPECT_THAT(*store().nearest(one.embedding, {}, 5), IsEmpty());
  EXPECT_THAT(*store().matching("tea", {}, 5), IsEmpty());
  EXPECT_THAT(texts_of({}), IsEmpty());
  EXPECT_THAT(texts_of({.valid = false}), ElementsAre("tea"));
  EXPECT_EQ(store().memory(id)->invalidation_reason, "wrong");
  ASSERT_TRUE(edited(id, [](Memory& memory) { memory.invalidated.reset(); }));
  EXPECT_THAT(pending(), ElementsAre("tea[\"x\"]"));
  EXPECT_THAT(*store().nearest(one.embedding, {}, 5), SizeIs(1));
  EXPECT_THAT(*store().matching("tea", {}, 5), SizeIs(1));
}

TEST_F(SqliteBankStoreTest, AnEmbeddingBelongsToItsText) {
  NewFact one = fact("tea", {});
  one.embedding = {1, 0};
  const MemoryId id = retained_one(one);
  ASSERT_TRUE(edited(id, [](Memory& memory) { memory.tags = Tags({"x"}); }));
  EXPECT_EQ(store().memory(id)->embedding, one.embedding);
  ASSERT_TRUE(edited(id, [](Memory& memory) { memory.text = "coffee"; }));
  EXPECT_THAT(store().memory(id)->embedding, IsEmpty());
  EXPECT_THAT(*store().nearest(one.embedding, {}, 5), IsEmpty());
  ASSERT_TRUE(edited(id, [](Memory& memory) {
    memory.text = "milk";
    memory.embedding = {0, 1};
  }));
  EXPECT_THAT(store().memory(id)->embedding, ElementsAre(0, 1));
  const Result<Memory> wrong = edited(id, [](Memory& memory) { memory.embedding = {0, 1, 0}; });
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInvalid);
}

TEST_F(SqliteBankStoreTest, EditsThatAreRefusedChangeNothing) {
  const MemoryId id = retained_one(fact("a", {"x"}));
  const MemoryId observation = observed("of a", Scope({"x"}), {id});
  EXPECT_EQ(edited(MemoryId{"none"}, [](Memory&) {}).error().kind, ErrorKind::kNotFound);
  const Result<Memory> refused = edited(observation, [](Memory& one) { one.text = "b"; });
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("is an observation"));
  const Result<Memory> failed = store().edit_memory(
      id,
      [](Memory& memory) -> Result<void> {
        memory.text = "c";
        return Error{ErrorKind::kUnavailable, "no"};
      },
      ++now_);
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_EQ(edited(id, [](Memory& one) { one.type = MemoryType::kObservation; }).error().kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(store().memory(id)->text, "a");
  EXPECT_TRUE(exists(observation));
}

TEST_F(SqliteBankStoreTest, ClearingRemovesATypeWithWhatDependsOnIt) {
  NewFact experience = fact("e", {"x"});
  experience.type = MemoryType::kExperience;
  const MemoryId world = retained_one(fact("w", {"x"}));
  const MemoryId own = retained_one(experience);
  (void)retained_document();
  (void)observed("of both", Scope({"x"}), {world, own});
  EXPECT_EQ(store().clear(MemoryType::kWorld, ++now_).value(), 3);
  EXPECT_THAT(texts_of({}), ElementsAre("e"));
  EXPECT_THAT(pending(), ElementsAre("e[\"x\"]"));
  EXPECT_EQ(store().stats()->documents, 0) << "else its chunks would not be retained again";
  EXPECT_EQ(store().chunk("d_0").error().kind, ErrorKind::kNotFound);

  (void)observed("of e", Scope({"x"}), {own});
  EXPECT_EQ(store().clear(MemoryType::kObservation, ++now_).value(), 1);
  EXPECT_THAT(pending(), ElementsAre("e[\"x\"]"));

  (void)observed("of e", Scope({"x"}), {own});
  EXPECT_EQ(store().clear({}, ++now_).value(), 2);
  EXPECT_EQ(store().list({})->total, 0);
  EXPECT_THAT(*store().matching("e", {}, 5), IsEmpty());
  EXPECT_EQ(store().clear({}, ++now_).value(), 0);
}

TEST_F(SqliteBankStoreTest, TheObservationsOfAFactAreCleared) {
  const std::vector<MemoryId> ids = retained({fact("a", {"x"}), fact("b", {"x"})});
  (void)observed("of both", Scope({"x"}), ids);
  EXPECT_EQ(store().clear_observations_of(ids[0], ++now_).value(), 1);
  EXPECT_THAT(observations_of(Scope({"x"})), IsEmpty());
  EXPECT_THAT(pending(), ElementsAre("a[\"x\"]", "b[\"x\"]"));
  EXPECT_EQ(store().clear_observations_of(ids[0], ++now_).value(), 0);
  EXPECT_EQ(store().clear_observations_of(MemoryId{"none"}, ++now_).error().kind,
            ErrorKind::kNotFound);
}

// --- lists ------------------------------------------------------------------------------------

TEST_F(SqliteBankStoreTest, ListsAreFilteredAndPaged) {
  NewFact old = fact("Old 100%", {"x"});
  old.times.mentioned = 10;
  NewFact recent = fact("recent", {"y"});
  recent.times.mentioned = 30;
  recent.type = MemoryType::kExperience;
  recent.document_id = "d";
  const std::vector<MemoryId> ids = retained({old, recent, fact("untold", {})});
  EXPECT_THAT(texts_of({}), ElementsAre("recent", "Old 100%", "untold"));
  EXPECT_THAT(texts_of({.limit = 1, .offset = 1}), ElementsAre("Old 100%"));
  EXPECT_EQ(store().list({.limit = 1})->total, 3);
  EXPECT_THAT(texts_of({.types = {MemoryType::kExperience}}), ElementsAre("recent"));
  EXPECT_THAT(texts_of({.text = "oLD 1"}), ElementsAre("Old 100%"));
  EXPECT_THAT(texts_of({.text = "%"}), ElementsAre("Old 100%"));
  EXPECT_THAT(texts_of({.document_id = "d"}), ElementsAre("recent"));
  EXPECT_THAT(texts_of({.tags = {.tags = Tags({"x"}), .match = TagsMatch::kAnyStrict}}),
              ElementsAre("Old 100%"));
  EXPECT_THAT(texts_of({.tags = {.tags = Tags({"x"}), .match = TagsMatch::kAny}}),
              ElementsAre("Old 100%", "untold"));
  EXPECT_THAT(texts_of({.tags = {.tags = Tags(), .match = TagsMatch::kExact}}),
              ElementsAre("untold"));
  const MemoryId observation = observed("of old", Scope({"x"}), {ids[0]});
  ASSERT_TRUE(store().mark_failed(seen({ids[1]}), "too long", ++now_));
  EXPECT_THAT(texts_of({.consolidation = ConsolidationState::kDone}), ElementsAre("Old 100%"));
  EXPECT_THAT(texts_of({.consolidation = ConsolidationState::kFailed}), ElementsAre("recent"));
  EXPECT_THAT(texts_of({.consolidation = ConsolidationState::kPending}), ElementsAre("untold"));
  const MemoryPage page = *store().list({.types = {MemoryType::kObservation}});
  ASSERT_THAT(page.memories, SizeIs(1));
  EXPECT_EQ(page.memories[0].id, observation);
  EXPECT_THAT(page.memories[0].sources, ElementsAre(ids[0]));
}

TEST_F(SqliteBankStoreTest, CountsOfTagsScopesEntitiesAndStates) {
  NewFact first = fact("a", {"x", "y"});
  first.entities = {"Ana", "tea"};
  first.times.mentioned = 5;
  NewFact second = fact("b", {"x"});
  second.entities = {"ana", "Bo"};
  second.times.mentioned = 9;
  second.type = MemoryType::kExperience;
  const std::vector<MemoryId> ids = retained({first, second, fact("c", {})});
  (void)observed("of a", Scope({"x", "y"}), {ids[0]});
  ASSERT_TRUE(store().mark_failed(seen({ids[1]}), "no", ++now_));
  ASSERT_TRUE(store().submit_consolidation(OperationId{"1"}, now_));

  const std::vector<TagCount> tags = *store().tags();
  ASSERT_THAT(tags, SizeIs(2));
  EXPECT_EQ(tags[0].tag, "x");
  EXPECT_EQ(tags[0].count, 3);
  EXPECT_EQ(tags[1].tag, "y");
  EXPECT_EQ(tags[1].count, 2);
  const std::vector<ScopeCount> scopes = *store().scopes();
  ASSERT_THAT(scopes, SizeIs(1));
  EXPECT_EQ(scopes[0].scope, Scope({"x", "y"}));
  const std::vector<EntityCount> entities = *store().entities();
  ASSERT_THAT(entities, SizeIs(3));
  EXPECT_EQ(entities[0].name, "Ana");
  EXPECT_EQ(entities[0].mentions, 2);
  EXPECT_EQ(entities[0].first_seen, 5);
  EXPECT_EQ(entities[0].last_seen, 9);
  EXPECT_EQ(entities[1].name, "Bo");
  EXPECT_EQ(entities[2].name, "tea");

  const BankStats stats = *store().stats();
  EXPECT_EQ(stats.facts_world, 2);
  EXPECT_EQ(stats.facts_experience, 1);
  EXPECT_EQ(stats.observations, 1);
  EXPECT_EQ(stats.pending_consolidation, 1);
  EXPECT_EQ(stats.failed_consolidation, 1);
  EXPECT_TRUE(stats.last_consolidated);
  EXPECT_EQ(stats.operations_by_status.at("pending"), 1);
}

// --- the bank ---------------------------------------------------------------------------------

TEST_F(SqliteBankStoreTest, SettingsAreKept) {
  const Result<Bank> edited = store().edit_bank([](Bank& bank) -> Result<void> {
    bank.name = "Notes";
    bank.mission = "m";
    bank.background = "b";
    bank.disposition = {.skepticism = 1, .literalism = 2, .empathy = 5};
    bank.overrides = {{"consolidation_llm_batch_size", 4}};
    bank.embedding_model = "e";
    bank.updated = 77;
    return {};
  });
  ASSERT_TRUE(edited);
  file_.reopen();
  const Bank bank = *store().bank();
  EXPECT_EQ(bank.name, "Notes");
  EXPECT_EQ(bank.mission, "m");
  EXPECT_EQ(bank.background, "b");
  EXPECT_EQ(bank.disposition, (Disposition{.skepticism = 1, .literalism = 2, .empathy = 5}));
  EXPECT_EQ(bank.overrides, (boost::json::object{{"consolidation_llm_batch_size", 4}}));
  EXPECT_EQ(bank.embedding_model, "e");
  EXPECT_EQ(bank.updated, 77);
  const Result<Bank> refused = store().edit_bank([](Bank& one) -> Result<void> {
    one.name = "x";
    return Error{ErrorKind::kConflict, "no"};
  });
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(store().bank()->name, "Notes");

  NewFact vector = fact("a", {});
  vector.embedding = {1, 0};
  (void)retained({vector});
  const Result<Bank> other_model = store().edit_bank([](Bank& one) -> Result<void> {
    one.embedding_model = "f";
    return {};
  });
  ASSERT_FALSE(other_model);
  EXPECT_THAT(other_model.error().message, HasSubstr("embedding model \"e\""));
}

}  // namespace
}  // namespace windrow::memory
