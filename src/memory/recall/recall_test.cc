#include "memory/recall/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/bank/testing/bank_file.h"
#include "memory/testing/scripted_models.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class RecallTest : public ::testing::Test {
 protected:
  RecallTest() {
    models_.on_embed = testing::embed_by_words({"garden", "herb", "music", "violin"});
    bank_
        .edit_bank([](Bank& bank) -> Result<void> {
          bank.embedding_model = "scripted-embed";
          return {};
        })
        .value();
  }

  MemoryId add(const std::string& text, std::vector<std::string> tags = {},
               MemoryType type = MemoryType::kWorld, const std::string& chunk = "") {
    NewFact fact = testing::fact(text, std::move(tags));
    fact.type = type;
    fact.chunk_id = chunk;
    if (models_.on_embed) fact.embedding = std::get<0>(models_.on_embed({text})).at(0);
    return bank_.retain({.facts = {std::move(fact)}}, ++now_).value().at(0);
  }

  // An observation of these facts.
  MemoryId add_observation(const std::string& text, const std::vector<MemoryId>& sources) {
    const MemoryId id{"00000000-0000-4000-8000-000000000001"};
    BatchEffects effects;
    effects.creates.push_back({.id = id, .text = text, .sources = sources});
    for (const MemoryId& source : sources)
      effects.facts.push_back({.id = source, .word = "created"});
    bank_.apply(effects, ++now_).value();
    if (models_.on_embed) {
      const std::vector<float> embedding = std::get<0>(models_.on_embed({text})).at(0);
      bank_
          .set_embeddings(std::vector<BankStore::Embedding>{
              {.memory = {.id = id, .version = bank_.memory(id)->version}, .vector = embedding}})
          .value();
    }
    return id;
  }

  RecallResult found(const RecallQuery& query) {
    RecallOutcome outcome = recall(bank_, models_, config_, query, {});
    if (const auto* failure = std::get_if<llm::Failure>(&outcome))
      ADD_FAILURE() << failure->message;
    auto* result = std::get_if<RecallResult>(&outcome);
    return result == nullptr ? RecallResult() : std::move(*result);
  }

  llm::Failure refused(const RecallQuery& query) {
    const RecallOutcome outcome = recall(bank_, models_, config_, query, {});
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    if (failure == nullptr) ADD_FAILURE() << "it was not refused";
    return failure == nullptr ? llm::Failure() : *failure;
  }

  static std::vector<std::string> texts(const RecallResult& result) {
    std::vector<std::string> texts;
    for (const Recalled& recalled : result.memories)
      texts.push_back(recalled.memory.text);
    return texts;
  }

  testing::BankFile file_;
  BankStore& bank_ = file_.store();
  testing::ScriptedModels models_;
  BankConfig config_;
  UnixMs now_ = 1000;
};

TEST_F(RecallTest, FindsByWordsAndByVectorsAndPutsWhatBothFindFirst) {
  add("Ada plays the violin in music class.");
  add("Ben has a garden with a herb bed.");
  add("Ben waters basil in the mornings.");
  const RecallResult result = found({.text = "herb in the garden of Ben"});
  EXPECT_EQ(texts(result).front(), "Ben has a garden with a herb bed.");
  EXPECT_THAT(texts(result), ::testing::Contains("Ben waters basil in the mornings."));
  const RecallScores& scores = result.memories.front().scores;
  EXPECT_DOUBLE_EQ(scores.final_score, 1.0);
  EXPECT_NEAR(scores.semantic.value(), 1.0, 1e-6);
  EXPECT_TRUE(scores.keyword.has_value());
  EXPECT_FALSE(result.memories.back().scores.semantic.has_value());
}

TEST_F(RecallTest, WithoutAnEmbeddingModelOnlyWordsAreSearchedAndTheTraceSaysSo) {
  add("Ada plays the violin.");
  models_.on_embed = nullptr;
  const RecallResult result = found({.text = "violin", .trace = true});
  EXPECT_THAT(texts(result), ElementsAre("Ada plays the violin."));
  EXPECT_THAT(result.trace.at("notes").as_array().at(0).as_string(),
              HasSubstr("only words were searched: there is no embedding model"));
  EXPECT_THAT(result.trace.at("retrieval_results").as_array(), SizeIs(1));
}

TEST_F(RecallTest, ABankWithoutVectorsIsSearchedByWords) {
  models_.on_embed = nullptr;
  add("Ada plays the violin.");
  models_.on_embed = testing::embed_by_words({"violin"});
  EXPECT_THAT(texts(found({.text = "violin"})), ElementsAre("Ada plays the violin."));
  EXPECT_THAT(models_.embeds(), IsEmpty());
}

TEST_F(RecallTest, VectorsOfAnotherModelAreAFailure) {
  add("Ada plays the violin.");
  models_.embed_name = "another";
  EXPECT_EQ(refused({.text = "violin"}).status, 409);
}

TEST_F(RecallTest, AFailedEmbeddingIsAFailureAndNotNothingFound) {
  add("Ada plays the violin.");
  models_.on_embed = [](const std::vector<std::string>&) -> EmbedOutcome {
    return llm::Failure{.status = 503, .code = "overloaded", .message = "later"};
  };
  EXPECT_EQ(refused({.text = "violin"}).code, "overloaded");
}

TEST_F(RecallTest, FiltersByTagsAndTypes) {
  add("garden of Ada", {"ada"});
  add("garden of Ben", {"ben"});
  add("garden I weeded", {"ada"}, MemoryType::kExperience);
  RecallQuery query{.text = "garden"};
  query.tags = {.tags = Tags({"ada"}), .match = TagsMatch::kAnyStrict};
  EXPECT_THAT(found(query).memories, SizeIs(2));
  query.types = {MemoryType::kExperience};
  EXPECT_THAT(texts(found(query)), ElementsAre("garden I weeded"));
}

TEST_F(RecallTest, StopsAtTheFirstMemoryThatOverflowsTheTokens) {
  for (int i = 0; i < 10; ++i)
    add("garden herb " + std::to_string(i));  // 4 tokens each
  EXPECT_THAT(found({.text = "garden", .tokens_max = 12}).memories, SizeIs(3));
  EXPECT_THAT(found({.text = "garden", .tokens_max = 0}).memories, IsEmpty());
}

TEST_F(RecallTest, ReadsAsManyPagesAsItReturns) {
  for (int i = 0; i < 150; ++i)
    add("garden " + std::to_string(i));
  const RecallResult result = found({.text = "garden", .budget = RecallBudget::kMid});
  EXPECT_THAT(result.memories, SizeIs(150));
  for (const Recalled& recalled : result.memories)
    EXPECT_GT(recalled.scores.final_score, 0);
  EXPECT_THAT(found({.text = "garden", .budget = RecallBudget::kLow}).memories.size(),
              ::testing::Lt(201U));
}

TEST_F(RecallTest, LeavesOutWhatIsBelowTheLeastScores) {
  add("herb garden");
  add("garden music violin");
  RecallQuery query{.text = "herb garden"};
  EXPECT_THAT(found(query).memories, SizeIs(2));
  query.scores_min = {{"final", 0.995}};
  EXPECT_THAT(texts(found(query)), ElementsAre("herb garden"));
  query.scores_min = {{"semantic", 0.9}, {"keyword", 1e9}};
  EXPECT_THAT(texts(found(query)), ElementsAre("herb garden"));
}

TEST_F(RecallTest, AFarVectorIsNoHit) {
  add("violin music");
  EXPECT_THAT(found({.text = "herb"}).memories, IsEmpty());
}

TEST_F(RecallTest, APreferredObservationReplacesItsFactsAndShowsThemAsSources) {
  const MemoryId one = add("Ben has a garden.");
  const MemoryId other = add("Ben grows a herb in his garden.");
  add_observation("Ben grows herbs in his garden.", {one, other});
  RecallQuery query{.text = "garden of Ben"};
  EXPECT_THAT(found(query).memories, SizeIs(3));
  query.prefer_observations = true;
  query.source_fact_tokens_max = 1000;
  const RecallResult result = found(query);
  EXPECT_THAT(texts(result), ElementsAre("Ben grows herbs in his garden."));
  EXPECT_THAT(result.source_facts, SizeIs(2));
  EXPECT_EQ(result.source_facts.at(one.text).text, "Ben has a garden.");
  EXPECT_FALSE(result.source_facts_truncated);

  query.source_fact_tokens_max = 5;
  EXPECT_THAT(found(query).source_facts, SizeIs(1));
  EXPECT_TRUE(found(query).source_facts_truncated);
}

TEST_F(RecallTest, SourcesThatTheQueryMayNotSeeAreLeftOut) {
  NewFact fact = testing::fact("Ada has a garden.", {"ada"});
  fact.scopes.kind = ScopeKind::kShared;
  const MemoryId source = bank_.retain({.facts = {std::move(fact)}}, ++now_).value().at(0);
  add_observation("There is a garden.", {source});
  RecallQuery query{.text = "garden"};
  query.types = {MemoryType::kObservation};
  query.source_fact_tokens_max = 1000;
  EXPECT_THAT(found(query).source_facts, SizeIs(1));
  query.tags = {.tags = Tags({"ben"}), .match = TagsMatch::kAny};
  EXPECT_THAT(texts(found(query)), ElementsAre("There is a garden."));
  EXPECT_THAT(found(query).source_facts, SizeIs(0));
}

TEST_F(RecallTest, ChunksAreChosenApartFromTheTokensOfMemories) {
  ASSERT_TRUE(bank_.retain({.documents = {{.id = "d", .text = "garden herb"}},
                            .chunks = {{.id = "b_d_0", .document_id = "d", .text = "garden herb"}}},
                           ++now_));
  add("garden", {}, MemoryType::kWorld, "b_d_0");
  add("herb", {}, MemoryType::kWorld, "b_d_0");
  RecallQuery query{.text = "garden herb", .tokens_max = 0};
  EXPECT_THAT(found(query).chunks, IsEmpty());
  query.chunk_tokens_max = 100;
  EXPECT_THAT(found(query).memories, IsEmpty());
  EXPECT_EQ(found(query).chunks.at("b_d_0").text, "garden herb");
  query.chunk_tokens_max = 1;
  EXPECT_THAT(found(query).chunks, IsEmpty());
}

TEST_F(RecallTest, TheTraceHasThePartsOfEveryScore) {
  const MemoryId id = add("herb garden");
  const RecallResult result = found({.text = "herb", .trace = true});
  const auto& merged = result.trace.at("rrf_merged").as_array().at(0).as_object();
  EXPECT_EQ(merged.at("node_id").as_string(), id.text);
  EXPECT_EQ(merged.at("source_ranks").at("semantic"), 1);
  EXPECT_EQ(merged.at("source_ranks").at("keyword"), 1);
  EXPECT_EQ(result.trace.at("retrieval_results").as_array().at(1).at("method_name").as_string(),
            "bm25");
  EXPECT_TRUE(found({.text = "herb"}).trace.empty());
}

TEST_F(RecallTest, AQueryWithoutAWordOrTooLongIsRefused) {
  EXPECT_EQ(refused({.text = " ?! "}).status, 422);
  EXPECT_EQ(refused({.text = ""}).param, "query");
  const llm::Failure failure = refused({.text = std::string(2004, 'x')});
  EXPECT_EQ(failure.status, 400);
  EXPECT_THAT(failure.message, HasSubstr("Query too long: 501 tokens exceeds maximum of 500"));
  EXPECT_THAT(found({.text = "what's 'this'?"}).memories, IsEmpty());
}

}  // namespace
}  // namespace windrow::memory
