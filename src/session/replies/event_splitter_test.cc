#include "session/replies/event_splitter.h"

#include <gtest/gtest.h>

#include <string>

namespace windrow::session {
namespace {

struct Collector final : EventListener {
  std::string got;
  std::string stops_at;

  bool on_data(std::string_view text) override {
    got += text;
    return stops_at.empty() || got.find(stops_at) == std::string::npos;
  }
  bool on_event() override {
    got += '|';
    return true;
  }
};

std::string split(std::string_view text, size_t piece_bytes) {
  Collector collector;
  EventSplitter splitter(collector);
  while (!text.empty()) {
    EXPECT_TRUE(splitter.take(text.substr(0, piece_bytes)));
    text.remove_prefix(std::min(piece_bytes, text.size()));
  }
  EXPECT_TRUE(splitter.end());
  return collector.got;
}

void expect_events(std::string_view text, std::string_view events) {
  for (size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(split(text, piece), events) << "pieces of " << piece << " of " << text;
}

TEST(EventSplitter, HandsOnTheDataOfEachEvent) {
  expect_events("data: {\"a\":1}\n\ndata: {}\n\ndata: [DONE]\n\n", "{\"a\":1}|{}|[DONE]|");
}

TEST(EventSplitter, TakesEveryKindOfLineEnd) {
  expect_events("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "a|b|c|");
}

TEST(EventSplitter, TakesOneBlankOffTheData) {
  expect_events("data:a\n\ndata:  b\n\ndata: c: d \n\n", "a| b|c: d |");
}

TEST(EventSplitter, JoinsTheLinesOfOneEvent) {
  expect_events("data: a\ndata: b\ndata:\ndata:d\n\n", "a\nb\n\nd|");
}

TEST(EventSplitter, LeavesOutCommentsAndOtherFields) {
  expect_events(": ping\n\nevent: x\nid: 1\ndatum: y\ndat: z\ndata: a\n\n\n\nretry: 5\n\n", "a|");
}

TEST(EventSplitter, AnEventAtTheEndNeedsNoEmptyLine) {
  expect_events("data: a\n\ndata: b\n", "a|b|");
  expect_events("data: a\n\ndata: b", "a|b|");
}

TEST(EventSplitter, EndsWhenTheListenerWantsNoMore) {
  Collector collector;
  collector.stops_at = "b";
  EventSplitter splitter(collector);
  EXPECT_TRUE(splitter.take("data: a"));
  EXPECT_FALSE(splitter.take("b\n\ndata: c\n\n"));
  EXPECT_EQ(collector.got, "ab");
}

}  // namespace
}  // namespace windrow::session
