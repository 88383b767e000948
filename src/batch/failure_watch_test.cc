#include "batch/failure_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

llm::Failure unknown_field(std::string_view field) {
  return {.status = 400,
          .code = "unknown_field",
          .message = fmt::format("\"{}\" is not a field", field),
          .param = std::string(field)};
}

constexpr FailureLimit kAlike{.first_alike = true};

class FailureWatchTest : public ::testing::Test {
 protected:
  bool fail(int64_t ordinal, const llm::Failure& failure, bool of_line = false) {
    const std::string id = fmt::format("row-{}", ordinal);
    return watch_.add_failure({.ordinal = ordinal,
                               .line = static_cast<uint64_t>(ordinal + 1),
                               .custom_id = id,
                               .of_line = of_line,
                               .failure = failure});
  }

  // The rows from `first` up to `last`, without it; whether any of them stopped the job.
  bool fail_all(int64_t first, int64_t last, const llm::Failure& failure) {
    bool stopped = false;
    for (int64_t i = first; i < last; ++i)
      stopped = fail(i, failure) || stopped;
    return stopped;
  }

  FailureWatch watch_{kAlike, false};
  const llm::Failure failure_ = unknown_field("temprature");
};

TEST_F(FailureWatchTest, ARowMoreThanTheFirstHundredStopsTheJob) {
  EXPECT_FALSE(fail_all(0, 100, failure_));
  EXPECT_FALSE(watch_.stop().has_value());
  EXPECT_TRUE(fail(100, failure_));
  const FailureStop expected{.alike = true,
                             .rows = 100,
                             .line = 1,
                             .custom_id = "row-0",
                             .status = 400,
                             .code = "unknown_field",
                             .message = failure_.message};
  EXPECT_EQ(watch_.stop(), expected);
  EXPECT_TRUE(fail(101, failure_));
}

TEST_F(FailureWatchTest, RowsMayEndInAnyOrder) {
  EXPECT_FALSE(fail_all(100, 300, failure_)) << "the first ones may still succeed";
  EXPECT_FALSE(fail_all(1, 100, failure_));
  EXPECT_TRUE(fail(0, failure_));
  EXPECT_EQ(watch_.stop()->line, 1U);
}

TEST_F(FailureWatchTest, OneSuccessMeansThatTheJobIsSound) {
  fail_all(0, 100, failure_);
  watch_.add_success();
  EXPECT_FALSE(fail_all(100, 1000, failure_));
}

TEST_F(FailureWatchTest, SoDoesOneOfAnEarlierRun) {
  watch_ = FailureWatch(kAlike, true);
  EXPECT_FALSE(fail_all(0, 1000, failure_));
}

TEST_F(FailureWatchTest, ADifferentFailureAmongTheFirstMeansTheSame) {
  fail_all(0, 50, failure_);
  fail(50, unknown_field("temprature"));
  llm::Failure other = failure_;
  other.param = "top_p";
  fail(51, other);
  EXPECT_FALSE(fail_all(52, 1000, failure_));
}

TEST_F(FailureWatchTest, AMalformedLineIsNotCounted) {
  fail(0, failure_, true);
  EXPECT_FALSE(fail_all(1, 1000, failure_));
}

TEST_F(FailureWatchTest, WithoutALimitNothingStopsTheJob) {
  watch_ = FailureWatch({}, false);
  EXPECT_FALSE(fail_all(0, 1000, failure_));
}

TEST_F(FailureWatchTest, ANumberOfFailuresStopsTheJobWhateverTheyAre) {
  watch_ = FailureWatch({.rows_max = 3}, true);
  EXPECT_FALSE(fail(5, failure_));
  watch_.add_success();
  EXPECT_FALSE(fail(1, {.status = 500, .code = "engine_error"}, true));
  EXPECT_TRUE(fail(9, failure_));
  const FailureStop expected{.rows = 3,
                             .line = 10,
                             .custom_id = "row-9",
                             .status = 400,
                             .code = "unknown_field",
                             .message = failure_.message};
  EXPECT_EQ(watch_.stop(), expected);
}

TEST(FailureShape, LeavesOutNumbersAndNames) {
  const auto shape = [](std::string message) {
    return failure_shape({.code = "invalid_value", .message = std::move(message)});
  };
  EXPECT_EQ(shape("temperature is 2.5"), shape("temperature is 12.75"));
  EXPECT_EQ(shape("row \"a\": no"), shape("row \"bc 7\": no"));
  EXPECT_NE(shape("temperature is 2"), shape("top_p is 2"));
  EXPECT_NE(shape("a"), failure_shape({.code = "other", .message = "a"}));
}

TEST(FailureShape, OfLoadServersAndFaultsOfTheRunIsEmpty) {
  using enum llm::FailureClass;
  EXPECT_EQ(failure_shape({.failure_class = kTransient, .status = 400}), "");
  for (const int32_t status : {0, 200, 408, 425, 429, 500, 503})
    EXPECT_EQ(failure_shape({.status = status}), "") << status;
  for (const int32_t status : {400, 404, 413, 422})
    EXPECT_NE(failure_shape({.status = status}), "") << status;
}

}  // namespace
}  // namespace windrow::batch
