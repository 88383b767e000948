#include "report/failure_counts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

std::string line(int status, std::string_view code) {
  return fmt::format(
      R"({{"id":"batch_req_1","response":{{"status_code":{}}},"error":{{"code":"{}"}}}})", status,
      code);
}

class FailureCountsTest : public ::testing::Test {
 protected:
  std::vector<FailureCount> count(std::string_view log) {
    EXPECT_TRUE(disk_.write_atomically("errors.jsonl", log).has_value());
    auto counts = count_failures(disk_, "errors.jsonl");
    EXPECT_TRUE(counts.has_value());
    return counts ? *counts : std::vector<FailureCount>();
  }

  store::testing::MemoryDisk disk_;
};

TEST_F(FailureCountsTest, WithoutAFileNothingFailed) {
  const auto counts = count_failures(disk_, "errors.jsonl");
  ASSERT_TRUE(counts.has_value());
  EXPECT_TRUE(counts->empty());
}

TEST_F(FailureCountsTest, TheMostFrequentComeFirst) {
  const std::string log = line(400, "invalid_json") + "\n" + line(404, "model_not_found") + "\n" +
                          line(404, "model_not_found") + "\n";
  EXPECT_EQ(count(log),
            (std::vector<FailureCount>{{404, "model_not_found", 2}, {400, "invalid_json", 1}}));
}

TEST_F(FailureCountsTest, TheFirstOfAKindIsItsExample) {
  const auto failed = [](std::string_view id, std::string_view message) {
    return fmt::format(R"({{"custom_id":"{}","response":{{"status_code":400}},)"
                       R"("error":{{"code":"a","message":"{}"}}}}{})",
                       id, message, "\n");
  };
  EXPECT_EQ(count(failed("r1", "temperature is 9") + failed("r2", "top_p is 2")),
            (std::vector<FailureCount>{{400, "a", 2, "custom_id \"r1\": temperature is 9"}}));
  const std::string cut = count(failed("r1", std::string(500, 'x'))).at(0).example;
  EXPECT_EQ(cut.size(), 79U);
  EXPECT_TRUE(cut.ends_with("xx...")) << cut;
}

TEST_F(FailureCountsTest, ATornEndDoesNotCount) {
  EXPECT_EQ(count(line(400, "a") + "\n" + line(400, "a")),
            (std::vector<FailureCount>{{400, "a", 1}}));
}

TEST_F(FailureCountsTest, LinesMayBeLongerThanABuffer) {
  const std::string pad = fmt::format(R"({{"pad":"{}","response":{{"status_code":500}},)"
                                      R"("error":{{"code":"x"}}}})",
                                      std::string(200'000, 'p'));
  EXPECT_EQ(count(pad + "\n" + line(400, "a") + "\n" + pad + "\n"),
            (std::vector<FailureCount>{{500, "x", 2}, {400, "a", 1}}));
}

TEST_F(FailureCountsTest, WhatHasNoCodeIsStillCounted) {
  EXPECT_EQ(count("{}\n[]\nnonsense\n"), (std::vector<FailureCount>{{0, "unreadable", 3}}));
}

TEST_F(FailureCountsTest, KindsAreBounded) {
  std::string log;
  for (int i = 0; i < 200; ++i)
    log += line(400, fmt::format("code_{}", i)) + "\n";
  const std::vector<FailureCount> counts = count(log);
  EXPECT_EQ(counts.size(), kFailureKindsMax + 1);
  EXPECT_EQ(counts.front(), (FailureCount{0, "others", 150}));
}

}  // namespace
}  // namespace windrow::report
