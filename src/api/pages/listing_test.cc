#include "api/pages/listing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace windrow::api {
namespace {

TEST(Query, DecodesNamesAndValues) {
  const Query query("after=file%2D1&limit=20&&x=a+b%20c&flag&after=second&none=");
  EXPECT_EQ(query.text("after"), "file-1");
  EXPECT_EQ(query.text("x"), "a b c");
  EXPECT_FALSE(query.text("flag"));
  EXPECT_FALSE(query.text("none"));
  EXPECT_FALSE(query.text("limi"));
  int64_t limit = 0;
  EXPECT_FALSE(query.number("limit", 5, limit));
  EXPECT_EQ(limit, 20);
  EXPECT_FALSE(query.number("missing", 5, limit));
  EXPECT_EQ(limit, 5);
  for (const char* text : {"limit=abc", "limit=1x", "limit=99999999999999999999", "limit=1.5"}) {
    const auto failure = Query(text).number("limit", 5, limit);
    ASSERT_TRUE(failure) << text;
    EXPECT_EQ(failure->status, 400);
    EXPECT_EQ(failure->param, "limit");
  }
}

TEST(Query, ANameMayHaveSeveralValues) {
  EXPECT_EQ(Query("tags=b&x=1&tags=a%2Fc&tags=").texts("tags"),
            (std::vector<std::string>{"b", "a/c"}));
  EXPECT_TRUE(Query("x=1").texts("tags").empty());
}

TEST(Query, AnUnknownParameterIsNamed) {
  EXPECT_FALSE(Query("").only({"after"}));
  EXPECT_FALSE(Query("after=1&limit=2").only({"after", "limit"}));
  const auto failure = Query("after=1&lim=2").only({"after", "limit"});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->param, "lim");
  EXPECT_NE(failure->message.find("after, limit"), std::string::npos);
}

}  // namespace
}  // namespace windrow::api
