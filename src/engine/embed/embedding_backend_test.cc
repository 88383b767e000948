#include "engine/embed/embedding_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>

#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_embedding_runner.h"
#include "llm/answer_room.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using testing::scripted_embedding;
using testing::ScriptedEmbeddingRunner;

constexpr EmbeddingLimits kLimits{.batch_tokens_max = 64,
                                  .inputs_max = 8,
                                  .input_tokens_max = 20,
                                  .dimensions = 6,
                                  .vocabulary_size = ByteVocabulary::kSize};

constexpr EmbeddingLimits kRankLimits{.batch_tokens_max = 64,
                                      .inputs_max = 8,
                                      .input_tokens_max = 20,
                                      .scores = 2,
                                      .vocabulary_size = ByteVocabulary::kSize,
                                      .pooling = Pooling::kRank};

class EmbeddingBackendTest : public ::testing::Test {
 protected:
  EmbeddingBackend backend(const EmbeddingLimits& limits) {
    return EmbeddingBackend(std::make_unique<ScriptedEmbeddingRunner>(limits), begins_,
                            {.separator = ByteVocabulary::kTurn}, clock_, {.batch_tokens = 40});
  }

  static llm::Request embed(std::vector<llm::Input> inputs) {
    return {.endpoint = llm::Endpoint::kEmbeddings, .inputs = std::move(inputs)};
  }

  static llm::Request rerank(std::vector<llm::Input> documents) {
    return {.endpoint = llm::Endpoint::kRerank, .inputs = std::move(documents), .query = "q"};
  }

  static llm::Outcome ask(EmbeddingBackend& backend, const llm::Request& request) {
    return ask(backend, llm::plain_call(request));
  }

  static llm::Outcome ask(EmbeddingBackend& backend, llm::BackendCall call) {
    std::promise<llm::Outcome> promise;
    backend.submit(std::move(call),
                   [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  // What submit says must be what a check before the job says.
  static llm::Failure refusal(EmbeddingBackend& backend, const llm::Request& request) {
    const auto failure = std::get<llm::Failure>(ask(backend, request));
    EXPECT_EQ(std::get<llm::Failure>(backend.input_tokens(request)), failure);
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
    EXPECT_EQ(failure.status, 400);
    return failure;
  }

  windrow::testing::ManualClock clock_;
  ByteVocabulary begins_{/*has_begin=*/true};
};

std::vector<float> unit(std::vector<float> vector) {
  double squares = 0;
  for (const float x : vector)
    squares += static_cast<double>(x) * static_cast<double>(x);
  for (float& x : vector)
    x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
  return vector;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6) << i;
}

TEST_F(EmbeddingBackendTest, TextsAndTokensBecomeUnitVectorsInTheirOrder) {
  EmbeddingBackend model = backend(kLimits);
  const auto outcome = ask(model, embed({{.text = "ab"}, {.tokens = {5, 6, 7}}, {.text = "c"}}));
  const auto& answer = std::get<llm::Answer>(outcome);
  ASSERT_EQ(answer.embeddings.size(), 3U);
  const std::vector<Token> first = {ByteVocabulary::kBegin, 'a', 'b'};
  expect_near(answer.embeddings[0], unit(scripted_embedding(first, 6)));
  const std::vector<Token> second = {5, 6, 7};
  expect_near(answer.embeddings[1], unit(scripted_embedding(second, 6)));
  const std::vector<Token> third = {ByteVocabulary::kBegin, 'c'};
  expect_near(answer.embeddings[2], unit(scripted_embedding(third, 6)));
  EXPECT_EQ(answer.usage.prompt_tokens, 3 + 3 + 2);
  EXPECT_TRUE(answer.choices.empty());
}

TEST_F(EmbeddingBackendTest, WhatWasReadAheadIsNotReadAgain) {
  EmbeddingBackend model = backend(kLimits);
  llm::BackendCall call = llm::plain_call(embed({{.text = "cancelled"}}));
  call.read_ahead = model.read_ahead(embed({{.text = "ab"}}));
  EXPECT_EQ(std::get<llm::Answer>(ask(model, call)).usage.prompt_tokens, 3);
  call.read_ahead = model.read_ahead(embed({{.tokens = {1'000'000}}}));
  EXPECT_EQ(std::get<llm::Failure>(ask(model, call)).param, "input");
}

TEST_F(EmbeddingBackendTest, FewerDimensionsAreTheFirstScaledAgain) {
  EmbeddingBackend model = backend(kLimits);
  llm::Request request = embed({{.tokens = {5, 6}}});
  request.dimensions = 2;
  const auto outcome = ask(model, request);
  const std::vector<Token> input = {5, 6};
  std::vector<float> expected = scripted_embedding(input, 6);
  expected.resize(2);
  expect_near(std::get<llm::Answer>(outcome).embeddings[0], unit(expected));
}

TEST_F(EmbeddingBackendTest, DocumentsAreScoredWithTheQueryAndRanked) {
  EmbeddingBackend model = backend(kRankLimits);
  llm::Request request = rerank({{.text = "a"}, {.text = "b"}, {.text = "c"}});
  request.return_documents = true;
  const auto outcome = ask(model, request);
  const auto& answer = std::get<llm::Answer>(outcome);
  ASSERT_EQ(answer.ranking.size(), 3U);
  EXPECT_TRUE(answer.embeddings.empty());
  EXPECT_EQ(answer.usage.prompt_tokens, 9);
  for (size_t i = 0; i < 3; ++i) {
    const llm::RankedDocument& document = answer.ranking[i];
    const std::vector<Token> pair = {'q', ByteVocabulary::kTurn, 'a' + document.index};
    EXPECT_EQ(document.score, scripted_embedding(pair, 2).front());
    EXPECT_EQ(document.text, request.inputs[static_cast<size_t>(document.index)].text);
    if (i > 0) {
      EXPECT_GE(answer.ranking[i - 1].score, document.score);
    }
  }
}

TEST_F(EmbeddingBackendTest, EachKindOfModelRefusesTheOther) {
  EmbeddingBackend embeds = backend(kLimits);
  EmbeddingBackend ranks = backend(kRankLimits);
  EXPECT_EQ(refusal(embeds, rerank({{.text = "a"}})).message,
            "this model makes embeddings (mean pooling) and cannot rerank; that takes a model with "
            "a classification head, used with --pooling rank");
  EXPECT_EQ(refusal(ranks, embed({{.text = "a"}})).message,
            "this model is a reranker (rank pooling) and makes no embeddings; use an embedding "
            "model, or another --pooling");
  for (EmbeddingBackend* model : {&embeds, &ranks}) {
    EXPECT_EQ(refusal(*model, {.endpoint = llm::Endpoint::kCompletions}).code,
              "model_cannot_generate");
  }
}

TEST_F(EmbeddingBackendTest, TooLongIsRefusedWithBothLengths) {
  EmbeddingBackend model = backend(kLimits);
  const std::string long_text(20, 'x');
  const llm::Failure failure = refusal(model, embed({{.text = "a"}, {.text = long_text}}));
  EXPECT_EQ(failure.message,
            "this model's maximum context length is 20 tokens, and input[1] has 21 tokens; cut the "
            "text into parts");
  EXPECT_EQ(failure.prompt_excess, (llm::PromptExcess{.tokens = 21, .tokens_max = 20}));
  EXPECT_EQ(failure.param, "input[1]");
  EXPECT_EQ(failure.code, "context_length_exceeded");
  EXPECT_EQ(refusal(model, embed({{.text = long_text}})).param, "input");
  const std::string fits(19, 'x');
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(model, embed({{.text = fits}}))));
  EmbeddingBackend ranks = backend(kRankLimits);
  EXPECT_EQ(refusal(ranks, rerank({{.text = fits}})).message,
            "this model's maximum context length is 20 tokens, and documents[0] has 21 tokens with "
            "the query; cut the text into parts");
}

TEST_F(EmbeddingBackendTest, WhatHasNoTokensIsRefused) {
  const ByteVocabulary bare;  // puts nothing in front
  EmbeddingBackend model(std::make_unique<ScriptedEmbeddingRunner>(kLimits), bare, {}, clock_, {});
  const llm::Failure failure = refusal(model, embed({{.text = "a"}, {.text = ""}}));
  EXPECT_EQ(failure.message, "input[1] has no tokens; there is nothing to embed");
  EXPECT_EQ(refusal(model, embed({})).message, "there is no input; give at least one");
}

TEST_F(EmbeddingBackendTest, TokensOutsideTheVocabularyAreNamed) {
  EmbeddingBackend model = backend(kLimits);
  EXPECT_EQ(refusal(model, embed({{.tokens = {1, 259}}})).message,
            "token 1 of input is 259; this model's tokens are 0 to 258");
  EXPECT_EQ(refusal(model, embed({{.text = "a"}, {.tokens = {-1}}})).message,
            "token 0 of input[1] is -1; this model's tokens are 0 to 258");
  EmbeddingBackend ranks = backend(kRankLimits);
  EXPECT_EQ(refusal(ranks, rerank({{.tokens = {1}}})).message,
            "documents[0] is a list of tokens; it must be a text");
}

TEST_F(EmbeddingBackendTest, MoreDimensionsThanThereAreAreRefused) {
  EmbeddingBackend model = backend(kLimits);
  llm::Request request = embed({{.text = "a"}});
  request.dimensions = 7;
  const llm::Failure failure = refusal(model, request);
  EXPECT_EQ(failure.message,
            "dimensions is 7; this model's embeddings have 6, of which 1 to 6 can be had");
  EXPECT_EQ(failure.param, "dimensions");
}

// As byte-level vocabularies know it: then a text that cannot fit is not tokenised at all.
class BoundedVocabulary final : public Vocabulary {
 public:
  explicit BoundedVocabulary(std::atomic<int>& calls) : calls_(calls) {}
  int32_t size() const override { return 256; }
  std::vector<Token> tokenize(std::string_view text, ControlTokens) const override {
    ++calls_;
    return std::vector<Token>(text.size(), 1);
  }
  void append_bytes(Token, std::string&) const override {}
  std::optional<size_t> token_bytes_max() const override { return 4; }
  bool ends_answer(Token) const override { return false; }
  std::optional<Token> begin_token() const override { return std::nullopt; }

 private:
  std::atomic<int>& calls_;
};

TEST_F(EmbeddingBackendTest, WhatCannotFitByItsBytesIsRefusedBeforeItIsTokenised) {
  std::atomic<int> calls = 0;
  const BoundedVocabulary vocabulary(calls);
  EmbeddingBackend model(std::make_unique<ScriptedEmbeddingRunner>(kLimits), vocabulary, {}, clock_,
                         {});
  EXPECT_EQ(refusal(model, embed({{.text = std::string(81, 'x')}})).message,
            "this model's maximum context length is 20 tokens, and input has at least 21 tokens; "
            "cut the text into parts");
  EXPECT_EQ(calls, 0);
}

TEST_F(EmbeddingBackendTest, SaysHowManyRequestsKeepItBusyAndWhatItWorksBy) {
  EmbeddingBackend model = backend(kLimits);
  EXPECT_EQ(model.in_flight_target(), 16) << "two passes of the shortest";
  EXPECT_EQ(model.budget().batch_tokens, 40);
  ask(model, embed({{.text = "abc"}}));
}

// Its vectors are known to have no room before anything is computed.
TEST_F(EmbeddingBackendTest, AnAnswerThatHasNoRoomIsRefused) {
  const auto room = std::make_shared<llm::AnswerRoom>(llm::AnswerShare::kBlockBytes);
  EmbeddingBackend backend = this->backend(kLimits);
  llm::Request request = embed(std::vector<llm::Input>(1000, llm::Input{.text = "a"}));
  llm::BackendCall call = llm::plain_call(request);
  call.answer_share = std::make_shared<llm::AnswerShare>(room);
  const auto failure = std::get<llm::Failure>(ask(backend, call));
  EXPECT_EQ(failure.status, 503);
  EXPECT_EQ(failure.code, "server_overloaded");
  EXPECT_EQ(backend.stats().prompt_tokens, 0);
  request.inputs.resize(10);
  call.request = std::make_shared<const llm::Request>(std::move(request));
  EXPECT_EQ(std::get<llm::Answer>(ask(backend, call)).embeddings.size(), 10U);
}

// --- the answer from the vectors ---

TEST(Normalise, ScalesToLengthOne) {
  std::vector<float> vector = {3, -4};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6F), FloatEq(-0.8F)));
}

TEST(Normalise, CutsFirstAndScalesThen) {
  std::vector<float> vector = {3, 4, 100};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
}

TEST(Normalise, ZerosStayZeros) {
  std::vector<float> vector = {0, 0, 7};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(0.0F, 0.0F));
}

TEST(Normalise, NumbersWhoseSquaresNoFloatHoldsAreScaledToo) {
  std::vector<float> large = {3e30F, 4e30F};
  normalise(large, 2);
  EXPECT_THAT(large, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
  std::vector<float> small = {3e-30F, 4e-30F};
  normalise(small, 2);
  EXPECT_THAT(small, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
}

llm::Request rerank(int documents) {
  llm::Request request{.endpoint = llm::Endpoint::kRerank, .query = "q"};
  for (int i = 0; i < documents; ++i)
    request.inputs.push_back({.text = std::string(1, static_cast<char>('a' + i))});
  return request;
}

std::vector<int32_t> indices(const std::vector<llm::RankedDocument>& ranking) {
  std::vector<int32_t> found;
  for (const llm::RankedDocument& document : ranking)
    found.push_back(document.index);
  return found;
}

TEST(Rank, BestFirstAndOfEqualsTheFirst) {
  const auto ranking = rank(rerank(4), {{0.5F, 9}, {2, 9}, {0.5F, 9}, {-1, 9}});
  EXPECT_THAT(indices(ranking), ElementsAre(1, 0, 2, 3));
  EXPECT_EQ(ranking[0].score, 2);
  EXPECT_FALSE(ranking[0].text.has_value()) << "the request does not ask for documents";
}

TEST(Rank, KeepsAsManyAsWereAskedForWithTheirTexts) {
  llm::Request request = rerank(3);
  request.results_max = 2;
  request.return_documents = true;
  const auto ranking = rank(request, {{1}, {3}, {2}});
  EXPECT_THAT(indices(ranking), ElementsAre(1, 2));
  EXPECT_EQ(ranking[0].text, "b");
  EXPECT_EQ(ranking[1].text, "c");
  request.results_max = 10;
  EXPECT_EQ(rank(request, {{1}, {3}, {2}}).size(), 3U);
}

TEST(Rank, KnowsLogitsFromProbabilities) {
  const auto logits = rank(rerank(2), {{3}, {0.5F}});
  EXPECT_FALSE(logits[0].is_probability);
  EXPECT_NEAR(llm::relevance_of(logits[0]), 0.952574, 1e-5);
  EXPECT_NEAR(llm::relevance_of(logits[1]), 0.622459, 1e-5);
  const auto classes = rank(rerank(2), {{0.25F, 0.75F}, {0.9F, 0.1F}});
  EXPECT_TRUE(classes[0].is_probability);
  EXPECT_EQ(llm::relevance_of(classes[0]), 0.9F);
  EXPECT_EQ(llm::relevance_of(classes[1]), 0.25F);
  EXPECT_FALSE(rank(rerank(1), {{0.5F, 9}})[0].is_probability);
}

TEST(EmbeddingAnswer, HoldsVectorsUsageAndTheFormatAskedFor) {
  const llm::Request request{.endpoint = llm::Endpoint::kEmbeddings,
                             .inputs = {{.text = "a"}, {.text = "b"}},
                             .dimensions = 1,
                             .base64 = true};
  const llm::Answer answer =
      embedding_answer(request, {.vectors = {{-2, 3}, {5, 1}}, .timings = {.queue_ms = 4}}, 17);
  EXPECT_THAT(answer.embeddings, ElementsAre(ElementsAre(-1.0F), ElementsAre(1.0F)));
  EXPECT_TRUE(answer.base64);
  EXPECT_EQ(answer.usage.prompt_tokens, 17);
  EXPECT_EQ(answer.usage.completion_tokens, 0);
  EXPECT_EQ(answer.timings.queue_ms, 4);
}

}  // namespace
}  // namespace windrow::engine
