#include "dispatch/work_item.h"

#include <gtest/gtest.h>

#include <string_view>

namespace windrow::dispatch {
namespace {

llm::Request of(llm::Endpoint endpoint) {
  llm::Request request;
  request.endpoint = endpoint;
  return request;
}

TEST(RequestItem, CostsItsPromptAndItsAnswers) {
  llm::Request request = of(llm::Endpoint::kChatCompletions);
  request.output_tokens_max = 50;
  EXPECT_EQ(request_item(request, 400).tokens, 100 + 50);
  request.choices = 3;
  EXPECT_EQ(request_item(request, 400).tokens, 100 + 150);
}

TEST(RequestItem, HasARowForEachAnswerToEachPromptAndForEachText) {
  llm::Request request = of(llm::Endpoint::kCompletions);
  request.output_tokens_max = 10;
  EXPECT_EQ(request_item(request, 400).rows, 1);
  request.inputs.resize(3);
  request.choices = 4;
  EXPECT_EQ(request_item(request, 400).rows, 12);
  EXPECT_EQ(request_item(request, 400).tokens, 100 + 120);
  request.choices = INT32_MAX;
  EXPECT_GT(request_item(request, 400).rows, 1000);
  request = of(llm::Endpoint::kEmbeddings);
  request.inputs.resize(2048);
  EXPECT_EQ(request_item(request, 400).rows, 2048);
  EXPECT_EQ(request_item(request, 400).tokens, 100);
}

TEST(RequestItem, OfOneWithoutALimitMoreIsExpectedThanOfOneWithASmallOne) {
  llm::Request request = of(llm::Endpoint::kCompletions);
  const int64_t unlimited = request_item(request, 400).tokens;
  request.output_tokens_max = 1;
  EXPECT_GT(unlimited, request_item(request, 400).tokens);
}

TEST(RequestItem, AnEmbeddingCostsItsTextAlone) {
  EXPECT_EQ(request_item(of(llm::Endpoint::kEmbeddings), 400).tokens, 100);
  EXPECT_EQ(request_item(of(llm::Endpoint::kEmbeddings), 1).tokens, 1);
}

TEST(RequestItem, WithoutAModelAServersAnswerIsItsOwn) {
  llm::Request request = of(llm::Endpoint::kEmbeddings);
  const Hash128 question = hash128("what?");
  EXPECT_EQ(request_item(request, 4, question).same_answer, question);
  request.raw = "{}";
  EXPECT_EQ(request_item(request, 4, question).same_answer, std::nullopt);
  request.model = "m";
  EXPECT_EQ(request_item(request, 4, question).same_answer, question);
}

TEST(RequestItem, TextsToEmbedElsewhereGoTogether) {
  const auto pack = [](llm::Endpoint endpoint, std::string_view raw) {
    llm::Request request = of(endpoint);
    request.raw = raw;
    request.inputs.resize(1);
    return request_item(request, 4).pack;
  };
  const uint64_t kind = pack(llm::Endpoint::kEmbeddings, R"({"model":"m","input":"a"})");
  EXPECT_NE(kind, 0U);
  EXPECT_EQ(pack(llm::Endpoint::kEmbeddings, R"({"model":"m","input":"b"})"), kind);
  EXPECT_NE(pack(llm::Endpoint::kEmbeddings, R"({"model":"n","input":"b"})"), kind);
  EXPECT_EQ(pack(llm::Endpoint::kCompletions, R"({"model":"m","input":"a"})"), 0U);
  EXPECT_EQ(pack(llm::Endpoint::kEmbeddings, ""), 0U);
}

}  // namespace
}  // namespace windrow::dispatch
