#include "upstream/sse_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::upstream {
namespace {

std::vector<SseEvent> events_of(std::string_view bytes) {
  SseReader reader(1000);
  std::vector<SseEvent> events;
  EXPECT_TRUE(reader.add(bytes, events));
  reader.finish(events);
  return events;
}

std::vector<std::string> data_of(std::string_view bytes) {
  std::vector<std::string> data;
  for (SseEvent& event : events_of(bytes))
    data.push_back(std::move(event.data));
  return data;
}

using Data = std::vector<std::string>;

TEST(SseReader, LinesEndInThreeWays) {
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    const std::string bytes = fmt::format("data: a{0}{0}data: b{0}data: c{0}{0}", end);
    EXPECT_EQ(data_of(bytes), (Data{"a", "b\nc"}));
  }
  EXPECT_EQ(data_of("data: a\r\n\ndata: b\r\rdata: c\n\r\n"), (Data{"a", "b", "c"}));
}

// The examples of the standard.
TEST(SseReader, FieldsAreReadAsTheStandardHasThem) {
  EXPECT_EQ(data_of("data: YHOO\ndata: +2\ndata: 10\n\n"), Data{"YHOO\n+2\n10"});
  EXPECT_EQ(data_of(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
                    "data:  third event\n\n"),
            (Data{"first event", "second event", " third event"}));
  EXPECT_EQ(data_of("data\n\ndata\ndata\n\n"), (Data{"", "\n"}));
  EXPECT_EQ(data_of("data:test\n\ndata: test\n\n"), (Data{"test", "test"}));
  EXPECT_EQ(data_of("datax: a\n\n: data: b\n\nretry: 5\n\nevent: c\n\n"), Data{});
  EXPECT_EQ(events_of("event: error\ndata: x\n\ndata: y\n\n"),
            (std::vector<SseEvent>{{"error", "x"}, {"", "y"}}));
}

TEST(SseReader, AByteOrderMarkIsNothingOnce) {
  EXPECT_EQ(data_of("\xEF\xBB\xBF"
                    "data: a\n\n\xEF\xBB\xBF"
                    "data: b\n\n"),
            Data{"a"});
}

TEST(SseReader, AnEventWithoutItsEmptyLineIsOneAtTheEnd) {
  EXPECT_EQ(data_of("data: a\n\ndata: [DONE]"), (Data{"a", "[DONE]"}));
  EXPECT_EQ(data_of("data: a\n\ndata: [DONE]\n"), (Data{"a", "[DONE]"}));
  EXPECT_EQ(data_of("data: a\n\n: bye"), Data{"a"});
}

TEST(SseReader, AnEventThatIsTooLongIsRefusedBeforeItIsThere) {
  SseReader reader(100);
  std::vector<SseEvent> events;
  ASSERT_TRUE(reader.add(fmt::format("data: {}\n\n", std::string(90, 'x')), events));
  ASSERT_TRUE(reader.add(fmt::format("data: {}\n", std::string(60, 'x')), events));
  const Result<void> refused = reader.add(fmt::format("data: {}", std::string(60, 'x')), events);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(events.size(), 1U);
}

// However the bytes are cut, the events are those of the bytes at once.
TEST(SseReader, CutsDoNotMatter) {
  constexpr std::array<std::string_view, 11> kParts = {
      "data: x", "data:", "data: {\"a\": 1}", "\n", "\r", "\r\n",
      "\n\n",    ": c",   "event: e",         "é",  " "};
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::string bytes;
    if (random.chance(0.2)) bytes = "\xEF\xBB\xBF";
    for (uint64_t i = random.below(40); i > 0; --i)
      bytes += kParts.at(random.below(kParts.size()));
    SseReader reader(1000);
    std::vector<SseEvent> events;
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = random.chance(0.5) ? 1 : 1 + random.below(10);
      ASSERT_TRUE(reader.add(std::string_view(bytes).substr(at, size), events));
      at += size;
    }
    reader.finish(events);
    EXPECT_EQ(events, events_of(bytes));
  }
}

}  // namespace
}  // namespace windrow::upstream
