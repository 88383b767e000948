#include "engine/sim/sim_options.h"

#include <gtest/gtest.h>

namespace windrow::engine::sim {
namespace {

std::string why(std::string_view text) {
  const Result<SimOptions> parsed = parse_sim(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(SimOptions, WhatIsNotSaidIsTheDefault) {
  EXPECT_EQ(*parse_sim("sim:"), SimOptions());
  const Result<SimOptions> some = parse_sim("sim:step-us=30000,answer-tokens=200,seed=7");
  ASSERT_TRUE(some.has_value()) << some.error().message;
  EXPECT_EQ(*some,
            (SimOptions{.step = std::chrono::milliseconds(30), .answer_tokens = 200, .seed = 7}));
}

TEST(SimOptions, InstantTakesNoTimeAndLeavesTheRest) {
  const Result<SimOptions> instant = parse_sim("sim:instant,context=100");
  ASSERT_TRUE(instant.has_value()) << instant.error().message;
  EXPECT_EQ(
      instant->step + instant->row + instant->prompt_token + instant->pass + instant->pass_token,
      Duration{});
  EXPECT_EQ(instant->context, 100);
  // What stands behind it counts still.
  EXPECT_EQ(parse_sim("sim:instant,row-us=5")->row, std::chrono::microseconds(5));
}

TEST(SimOptions, WhatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(
      why("sim:stepus=1"),
      "sim:stepus=1: a simulated model has no \"stepus\"; it has instant, step-us, row-us, "
      "prompt-token-us, pass-us, pass-token-us, load-us, memory-mb, answer-tokens, vocabulary, "
      "context, "
      "embedding-size, seed");
  EXPECT_EQ(why("sim:step-us"), "sim:step-us: step-us needs a value: step-us=NUMBER");
  EXPECT_EQ(why("sim:vocabulary=100"),
            "sim:vocabulary=100: vocabulary takes a whole number from 512 to 1000000, not \"100\"");
  EXPECT_EQ(why("sim:seed=-1"),
            "sim:seed=-1: seed takes a whole number from 0 to "
            "18446744073709551615, not \"-1\"");
  EXPECT_EQ(why("model.gguf"),
            "model.gguf: a simulated model is written sim: or sim:KEY=VALUE,...");
}

TEST(SimOptions, OnlyWhatDecidesAboutAnswersIsPartOfThem) {
  const auto answers = [](std::string_view text) { return describe_answers(*parse_sim(text)); };
  EXPECT_EQ(answers("sim:"), answers("sim:instant"));
  EXPECT_NE(answers("sim:"), answers("sim:seed=2"));
}

}  // namespace
}  // namespace windrow::engine::sim
