#include "api/pages/listing.h"

#include <gtest/gtest.h>

#include "api/storage/file_download.h"

namespace windrow::api {
namespace {

TEST(Query, HasWhatWasMeant) {
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

TEST(Query, WhatNobodyKnowsIsNamed) {
  EXPECT_FALSE(Query("").only({"after"}));
  EXPECT_FALSE(Query("after=1&limit=2").only({"after", "limit"}));
  const auto failure = Query("after=1&lim=2").only({"after", "limit"});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->param, "lim");
  EXPECT_NE(failure->message.find("after, limit"), std::string::npos);
}

TEST(ByteRange, PartsOfAFile) {
  const auto part = [](const char* header) { return wanted_range(header, 1000); };
  const auto is = [](uint64_t begin, uint64_t end) {
    return WantedRange{RangeKind::kPart, {begin, end}};
  };
  EXPECT_EQ(part("bytes=0-0"), is(0, 1));
  EXPECT_EQ(part("bytes=0-499"), is(0, 500));
  EXPECT_EQ(part("bytes=999-"), is(999, 1000));
  EXPECT_EQ(part("bytes=500-5000"), is(500, 1000));
  EXPECT_EQ(part("bytes=-1"), is(999, 1000));
  EXPECT_EQ(part("bytes=-5000"), is(0, 1000));
  EXPECT_EQ(part("bytes=5-99999999999999999999999"), is(5, 1000));
  for (const char* none : {"bytes=1000-", "bytes=-0", "bytes=5000-6000"})
    EXPECT_EQ(part(none).kind, RangeKind::kNone) << none;
  for (const char* whole : {"bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "rows=0-1",
                            "bytes=a-b", "bytes=1-b", "bytes 0-1"})
    EXPECT_EQ(part(whole), (WantedRange{RangeKind::kWhole, {0, 1000}})) << whole;
  EXPECT_EQ(wanted_range({}, 7), (WantedRange{RangeKind::kWhole, {0, 7}}));
  EXPECT_EQ(wanted_range("bytes=0-", 0).kind, RangeKind::kNone);

  EXPECT_EQ(content_range(part("bytes=0-499"), 1000), "bytes 0-499/1000");
  EXPECT_EQ(content_range(part("bytes=1000-"), 1000), "bytes */1000");
}

}  // namespace

}  // namespace windrow::api
