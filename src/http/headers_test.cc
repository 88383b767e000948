#include "http/headers.h"

#include <gtest/gtest.h>

namespace windrow::http {
namespace {

TEST(Headers, KeepOrderAndFindNamesInAnyCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-A", "1"}};
  headers.add("x-a", "2");
  ASSERT_EQ(headers.size(), 3U);
  EXPECT_EQ(headers[2], (Headers::Field{"x-a", "2"}));
  EXPECT_EQ(headers.get("CONTENT-TYPE"), "text/plain");
  EXPECT_EQ(headers.get("X-A"), "1");
  EXPECT_FALSE(headers.has("X"));
}

TEST(Headers, SetReplacesAllOfAName) {
  Headers headers{{"A", "1"}, {"B", "2"}, {"a", "3"}};
  headers.set("A", "4");
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0], (Headers::Field{"B", "2"}));
  EXPECT_EQ(headers[1], (Headers::Field{"A", "4"}));
  headers.set("B", *headers.get("A"));  // a value that lies in the headers themselves
  EXPECT_EQ(headers.get("B"), "4");
}

TEST(Headers, ALineEndIsNoPartOfANameOrAValue) {
  EXPECT_TRUE(is_header_name("X-Request-Id"));
  EXPECT_FALSE(is_header_name(""));
  EXPECT_FALSE(is_header_name("X Y"));
  EXPECT_FALSE(is_header_name("X:"));
  EXPECT_TRUE(is_header_value("a\tb \xC3\xA4"));
  EXPECT_FALSE(is_header_value("a\r\nX-Evil: 1"));
  EXPECT_FALSE(is_header_value(std::string_view("a\0b", 3)));
}

TEST(Headers, AListHasWholeTokensOnly) {
  EXPECT_TRUE(list_has("keep-alive, Upgrade", "upgrade"));
  EXPECT_TRUE(list_has("close", "close"));
  EXPECT_FALSE(list_has("closed ,x", "close"));
  EXPECT_FALSE(list_has("", "close"));
  EXPECT_TRUE(list_has(",, close ,", "close"));
}

}  // namespace
}  // namespace windrow::http
