#include "batch/row_item.h"

#include <gtest/gtest.h>

#include <string_view>

#include "base/hash.h"

namespace windrow::batch {
namespace {

Row row_of(llm::Endpoint endpoint, size_t bytes) {
  Row row;
  row.request.endpoint = endpoint;
  row.bytes = bytes;
  return row;
}

TEST(WorkItem, CostsItsPromptAndItsAnswers) {
  Row row = row_of(llm::Endpoint::kChatCompletions, 400);
  row.request.output_tokens_max = 50;
  EXPECT_EQ(work_item(row).tokens, 100 + 50);
  row.request.choices = 3;
  EXPECT_EQ(work_item(row).tokens, 100 + 150);
}

TEST(WorkItem, OfARowWithoutALimitMoreIsExpectedThanOfOneWithASmallOne) {
  Row row = row_of(llm::Endpoint::kCompletions, 400);
  const int64_t unlimited = work_item(row).tokens;
  row.request.output_tokens_max = 1;
  EXPECT_GT(unlimited, work_item(row).tokens);
}

TEST(WorkItem, AnEmbeddingCostsItsTextAlone) {
  EXPECT_EQ(work_item(row_of(llm::Endpoint::kEmbeddings, 400)).tokens, 100);
  EXPECT_EQ(work_item(row_of(llm::Endpoint::kEmbeddings, 1)).tokens, 1);
}

TEST(WorkItem, WithoutAModelAServersAnswerIsItsOwn) {
  Row row = row_of(llm::Endpoint::kEmbeddings, 4);
  row.question = hash128("what?");
  row.request.raw = "{}";
  EXPECT_EQ(work_item(row).same_answer, std::nullopt);
  row.request.model = "m";
  EXPECT_EQ(work_item(row).same_answer, row.question);
}

TEST(WorkItem, KnowsItsQuestionAndItsGroup) {
  Row row = row_of(llm::Endpoint::kEmbeddings, 4);
  row.question = hash128("what?");
  row.group = 7;
  EXPECT_EQ(work_item(row).same_answer, row.question);
  EXPECT_EQ(work_item(row).group, 7U);
}

TEST(WorkItem, TextsToEmbedElsewhereGoTogether) {
  const auto pack = [](llm::Endpoint endpoint, std::string_view raw) {
    Row row = row_of(endpoint, 4);
    row.request.raw = raw;
    row.request.inputs.resize(1);
    return work_item(row).pack;
  };
  const uint64_t kind = pack(llm::Endpoint::kEmbeddings, R"({"model":"m","input":"a"})");
  EXPECT_NE(kind, 0U);
  EXPECT_EQ(pack(llm::Endpoint::kEmbeddings, R"({"model":"m","input":"b"})"), kind);
  EXPECT_NE(pack(llm::Endpoint::kEmbeddings, R"({"model":"n","input":"b"})"), kind);
  EXPECT_EQ(pack(llm::Endpoint::kCompletions, R"({"model":"m","input":"a"})"), 0U);
  EXPECT_EQ(pack(llm::Endpoint::kEmbeddings, ""), 0U);
}

}  // namespace
}  // namespace windrow::batch
