#include "memory/bank/sqlite_bank_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory/bank/testing/bank_file.h"

namespace windrow::memory {
namespace {

using testing::BankFile;
using ::testing::ElementsAre;
using testing::fact;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BankStoreTest : public ::testing::Test {
 protected:
  std::vector<MemoryId> retained(std::vector<NewFact> facts) {
    return *store().retain({.facts = std::move(facts)}, ++now_);
  }
  MemoryId retained_one(NewFact fact) { return retained({std::move(fact)}).front(); }

  // Makes an observation of these facts in this scope, which is done for them.
  MemoryId observed(const std::string& text, const Scope& scope,
                    const std::vector<MemoryId>& facts) {
    const MemoryId id{"o-" + std::to_string(++observations_)};
    BatchEffects effects{.scope = scope};
    effects.creates.push_back({.id = id, .text = text, .sources = facts});
    for (const MemoryId& fact : facts)
      effects.facts.push_back({.id = fact, .word = "created"});
    const Result<void> applied = store().apply(effects, ++now_);
    EXPECT_TRUE(applied) << applied.error().message;
    return id;
  }

  std::vector<MemoryId> pending() {
    std::vector<MemoryId> ids;
    for (const PendingFact& fact : *store().pending_facts())
      ids.push_back(fact.id);
    return ids;
  }

  std::vector<std::string> observations_of(const Scope& scope) {
    std::vector<std::string> texts;
    for (const Memory& observation : *store().observations_of(scope))
      texts.push_back(observation.text);
    return texts;
  }

  BankStore& store() { return file_.store(); }

  BankFile file_;
  UnixMs now_ = 1000;
  int observations_ = 0;
};

TEST_F(BankStoreTest, FactsComeBackAsTheyWereRetained) {
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
  EXPECT_EQ(memory.version, 1);
  EXPECT_EQ(memory.proof_count, 1);
  EXPECT_THAT(pending(), ElementsAre(ids[0], ids[1]));
  file_.reopen();
  EXPECT_EQ(store().memory(ids[0])->embedding, whole.embedding);
  EXPECT_EQ(store().memory(MemoryId{"none"}).error().kind, ErrorKind::kNotFound);
}

TEST_F(BankStoreTest, AnObservationHasItsSourcesAndStampsThem) {
  const std::vector<MemoryId> ids = retained({fact("a", {"x"}), fact("b", {"x"})});
  const MemoryId observation = observed("ab", Scope({"x"}), ids);
  EXPECT_THAT(pending(), IsEmpty());
  const Memory memory = *store().memory(observation);
  EXPECT_THAT(memory.sources, ElementsAre(ids[0], ids[1]));
  EXPECT_EQ(memory.proof_count, 2);
  EXPECT_EQ(memory.tags, Tags({"x"}));
  EXPECT_EQ(store().memory(ids[0])->consolidated, now_);
  EXPECT_THAT(observations_of(Scope({"x"})), ElementsAre("ab"));
  EXPECT_THAT(observations_of(Scope()), IsEmpty());
}

}  // namespace
}  // namespace windrow::memory
