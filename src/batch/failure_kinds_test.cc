#include "batch/failure_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

using ::testing::ElementsAre;

TEST(FailureKinds, TheMostFrequentComeFirst) {
  FailureKinds kinds;
  EXPECT_TRUE(kinds.read().empty());
  kinds.add(400, "invalid_value");
  kinds.add(0, "invalid_json_line");
  kinds.add(0, "invalid_json_line");
  kinds.add(429, "rate_limited", 5);
  EXPECT_THAT(kinds.read(),
              ElementsAre(FailureKind{.status = 429, .code = "rate_limited", .rows = 5},
                          FailureKind{.status = 0, .code = "invalid_json_line", .rows = 2},
                          FailureKind{.status = 400, .code = "invalid_value", .rows = 1}));
}

TEST(FailureKinds, EndlessKindsTakeBoundedMemory) {
  FailureKinds kinds;
  for (int i = 0; i < 1000; ++i)
    kinds.add(500, "code_" + std::to_string(i));
  kinds.add(500, "code_0");
  const std::vector<FailureKind> read = kinds.read();
  EXPECT_EQ(read.size(), FailureKinds::kKindsMax + 1);
  EXPECT_EQ(read.front().code, "others");
  EXPECT_EQ(read.front().rows, 1000 - static_cast<int64_t>(FailureKinds::kKindsMax));
  EXPECT_EQ(read.at(1), (FailureKind{.status = 500, .code = "code_0", .rows = 2}));
}

}  // namespace
}  // namespace windrow::batch
