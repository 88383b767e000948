#include "batch/job_options.h"

#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

TEST(FailureChoice, TakesEverythingUnlessItNamesSomething) {
  EXPECT_TRUE(FailureChoice().takes(0, "invalid_json_line"));
  EXPECT_TRUE(FailureChoice().takes(429, ""));
}

TEST(FailureChoice, NamesCodesAndStatuses) {
  const auto choice = FailureChoice::parse("429,out_of_memory");
  ASSERT_TRUE(choice.has_value());
  EXPECT_TRUE(choice->takes(429, "rate_limited"));
  EXPECT_TRUE(choice->takes(500, "out_of_memory"));
  EXPECT_FALSE(choice->takes(500, "engine_error"));
  EXPECT_FALSE(choice->takes(42, "9"));
}

TEST(FailureChoice, ALineThatIsNoRequestHasNoStatus) {
  EXPECT_FALSE(FailureChoice::of({"0"}).takes(0, "invalid_json_line"));
}

TEST(FailureChoice, AnEmptyNameIsAMistake) {
  for (const char* text : {"", ",", "429,", ",429", "a,,b"}) {
    EXPECT_FALSE(FailureChoice::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace windrow::batch
