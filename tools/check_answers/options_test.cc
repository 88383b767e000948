#include "check_answers/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace windrow::check_answers {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
  return parse_options(arguments);
}

std::string refusal_of(std::vector<const char*> arguments) {
  const Result<Options> options = parse(std::move(arguments));
  return options ? "" : options.error().message;
}

TEST(Options, TakesTwoFilesAndFlagsAnywhere) {
  const Result<Options> options =
      parse({"r.jsonl", "--json", "k.jsonl", "--min", "92.5", "--show-wrong", "3"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->results, "r.jsonl");
  EXPECT_EQ(options->key, "k.jsonl");
  EXPECT_TRUE(options->json);
  EXPECT_EQ(options->min, 92.5);
  EXPECT_EQ(options->wrong_max, 3U);
}

TEST(Options, NothingIsAskedUnlessSaid) {
  const Result<Options> options = parse({"r.jsonl", "k.jsonl"});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->json);
  EXPECT_FALSE(options->min);
  EXPECT_EQ(options->wrong_max, 0U);
  EXPECT_TRUE(parse({"--help"})->help);
}

TEST(Options, BadOnesAreRefusedWithAReason) {
  EXPECT_EQ(refusal_of({}), "name two files: the results and the key");
  EXPECT_EQ(refusal_of({"a", "b", "c"}), "name two files: the results and the key");
  EXPECT_EQ(refusal_of({"a", "b", "--max"}), "unknown argument '--max': --help lists the flags");
  EXPECT_EQ(refusal_of({"a", "b", "--min"}), "--min needs a value");
  EXPECT_EQ(refusal_of({"a", "b", "--min", "101"}),
            "--min takes a number from 0 to 100, not '101'");
  EXPECT_EQ(refusal_of({"a", "b", "--min", "nan"}),
            "--min takes a number from 0 to 100, not 'nan'");
  EXPECT_EQ(refusal_of({"a", "b", "--show-wrong", "x"}),
            "--show-wrong takes a number from 0 to 1000000, not 'x'");
}

}  // namespace
}  // namespace windrow::check_answers
