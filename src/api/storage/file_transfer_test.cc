#include "api/storage/file_transfer.h"

#include <gtest/gtest.h>

namespace windrow::api {
namespace {

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
