#include "batch/row.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace windrow::batch {

namespace {

uint64_t of(std::string_view line) {
  return row_fingerprint(line, "a");
}

TEST(Fingerprint, LayoutDoesNotCount) {
  const uint64_t plain = of(R"({"custom_id":"a","url":"/u","body":{"x":[1,"b c"]}})");
  EXPECT_EQ(
      of("  { \"custom_id\" : \"a\" ,\t\"url\": \"/u\", \"body\": { \"x\" : [ 1, \"b c\" ] } }  "),
      plain);
  EXPECT_EQ(of(R"({"body":{"x":[1,"b c"]},"url":"/u","custom_id":"a"})"), plain);
  EXPECT_EQ(of(R"({"custom_id":"a","url":"/u","body":{"x":[1,"b c"]},"note":{"body":1}})"), plain);
  EXPECT_EQ(of(R"({"url":"/u","b\u006fdy":{"x":[1,"b c"]}})"), plain);
}

TEST(Fingerprint, WhatIsAskedCounts) {
  const std::string_view lines[] = {
      R"({"url":"/u","body":{"x":1}})",
      R"({"url":"/v","body":{"x":1}})",
      R"({"url":"/u","body":{"x":2}})",
      R"({"url":"/u","body":{"x":"a b"}})",
      R"({"url":"/u","body":{"x":"a  b"}})",
      R"({"url":"/u","body":{"x":"a\"b }"}})",
      R"({"url":"/u","body":{"x":1.0}})",
      R"({"url":"/u"})",
      R"({"body":{"x":1}})",
      R"({"url":"/u","body":[{"x":1}]})",
  };
  for (const auto& first : lines) {
    for (const auto& second : lines) {
      EXPECT_EQ(of(first) == of(second), first == second) << first << " " << second;
    }
  }
  EXPECT_NE(row_fingerprint(lines[0], "a"), row_fingerprint(lines[0], "b"));
}

TEST(Fingerprint, TheLastOfTwoMembersCounts) {
  EXPECT_EQ(of(R"({"url":"/u","body":{"x":1},"body":{"x":2}})"),
            of(R"({"url":"/u","body":{"x":2}})"));
}

// Stored in every log: what an earlier version wrote must be found again.
TEST(Fingerprint, IsStableBetweenVersions) {
  EXPECT_EQ(of(R"({"url":"/u","body":{"x": 1}})"), hash64("\"/u\"\n{\"x\":1}", hash64("a")));
}

TEST(Fingerprint, AnyTextIsSafe) {
  const std::string whole = R"({"url":"\\\"/u","body":{"x":[1,"b\\"]},"n":null})";
  for (size_t size = 0; size <= whole.size(); ++size) {
    of(std::string_view(whole).substr(0, size));
    of(std::string_view(whole).substr(size));
  }
  EXPECT_EQ(of(""), of("rubbish"));
}

}  // namespace
}  // namespace windrow::batch
