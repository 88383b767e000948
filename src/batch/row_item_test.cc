#include "batch/row_item.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace windrow::batch {
namespace {

TEST(WorkItem, KnowsItsCostItsQuestionAndItsGroup) {
  Row row;
  row.request.endpoint = llm::Endpoint::kEmbeddings;
  row.bytes = 400;
  row.question = hash128("what?");
  row.group = 7;
  EXPECT_EQ(work_item(row).tokens, 100);
  EXPECT_EQ(work_item(row).same_answer, row.question);
  EXPECT_EQ(work_item(row).group, 7U);
}

}  // namespace
}  // namespace windrow::batch
