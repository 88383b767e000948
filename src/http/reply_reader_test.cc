#include "http/reply_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::http {
namespace {

using Event = ReplyReader::Event;

struct Read {
  int32_t status = 0;
  std::string body;
  Event last = Event::kMore;
  bool keeps = false;
  std::string left;

  friend bool operator==(const Read&, const Read&) = default;
};

// Gives `text` in pieces that end at `cuts`, as a connection would, and then its end.
Read read(const std::string& text, bool to_head, const std::vector<size_t>& cuts) {
  ReplyReader reader(to_head);
  Read result;
  std::string buffer;
  size_t from = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t to = i < cuts.size() ? cuts[i] : text.size();
    buffer += text.substr(from, to - from);
    from = to;
    std::string_view bytes = buffer;
    for (;;) {
      result.last = reader.next(bytes);
      if (result.last == Event::kBody) result.body += reader.piece();
      if (result.last != Event::kBody && result.last != Event::kHead) break;
    }
    buffer.erase(0, buffer.size() - bytes.size());
    if (result.last != Event::kMore) {
      buffer += text.substr(from);
      break;
    }
  }
  if (result.last == Event::kMore) result.last = reader.end_of_connection();
  result.status = reader.head().status;
  result.keeps = reader.keeps_connection();
  result.left = buffer;
  return result;
}

Read read(const std::string& text, bool to_head = false) {
  return read(text, to_head, {});
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";

TEST(ReplyReader, ReadsEachFraming) {
  Read got = read(kOk + "Content-Length: 3\r\n\r\nabcHTTP");
  EXPECT_EQ(got, (Read{200, "abc", Event::kEnd, true, "HTTP"}));
  got =
      read(kOk + "transfer-encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nX");
  EXPECT_EQ(got, (Read{200, "abc0123456789", Event::kEnd, true, "X"}));
  got = read(kOk + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(got, (Read{200, "a", Event::kEnd, true, ""}));
  got = read(kOk + "\r\nall of it");
  EXPECT_EQ(got, (Read{200, "all of it", Event::kEnd, false, ""}));
}

TEST(ReplyReader, SomeRepliesHaveNoBody) {
  EXPECT_EQ(read("HTTP/1.1 204 \r\n\r\nX"), (Read{204, "", Event::kEnd, true, "X"}));
  EXPECT_EQ(read("HTTP/1.1 304\r\nContent-Length: 5\r\n\r\n"),
            (Read{304, "", Event::kEnd, true, ""}));
  EXPECT_EQ(read(kOk + "Content-Length: 5\r\n\r\n", true), (Read{200, "", Event::kEnd, true, ""}));
  EXPECT_EQ(read(kOk + "Content-Length: 0\r\n\r\n"), (Read{200, "", Event::kEnd, true, ""}));
}

TEST(ReplyReader, PassesOverInterimReplies) {
  EXPECT_EQ(read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + kOk +
                 "Content-Length: 1\r\n\r\na"),
            (Read{200, "a", Event::kEnd, true, ""}));
}

TEST(ReplyReader, KnowsWhetherTheConnectionIsKept) {
  const auto keeps = [](const std::string& version, const std::string& connection) {
    return read("HTTP/" + version + " 200 OK\r\nContent-Length: 0\r\n" + connection + "\r\n").keeps;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: x, close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\n"));
}

TEST(ReplyReader, AnIncompleteReplyIsNotAtItsEnd) {
  for (const std::string& text :
       {std::string(), kOk, kOk + "Content-Length: 3\r\n\r\nab",
        kOk + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", kOk + "Content-Length: 3\r\n"}) {
    EXPECT_EQ(read(text).last, Event::kMore) << text;
  }
}

TEST(ReplyReader, WhatReadersCouldDisagreeAboutIsBad) {
  for (const std::string& text : {
           std::string("SSH-2.0"),
           std::string("HTTP/2 200 OK\r\n\r\n"),
           std::string("HTTP/1.1 20 OK\r\n\r\n"),
           std::string("HTTP/1.1 2000 OK\r\n\r\n"),
           std::string("HTTP/1.1 -20 OK\r\n\r\n"),
           std::string("HTTP/1.1 101 Switching\r\n\r\n"),
           kOk + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
           kOk + "Content-Length: +3\r\n\r\nabc",
           kOk + "Content-Length: 99999999999999999999\r\n\r\nabc",
           kOk + "Content-Length : 3\r\n\r\nabc",
           kOk + "A: b\r\n c\r\n\r\n",
           kOk + "no colon\r\n\r\n",
           kOk + "Transfer-Encoding: gzip, chunked\r\n\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
       }) {
    EXPECT_EQ(read(text).last, Event::kBad) << text;
  }
}

TEST(ReplyReader, AfterTwoLengthsTheConnectionIsNotKept) {
  const Read got = read(kOk + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(got, (Read{200, "", Event::kEnd, false, ""}));
}

TEST(ReplyReader, AHeadOrALineWithoutEndIsTooLarge) {
  const std::string much(kReplyHeadBytesMax + 1, 'x');
  EXPECT_EQ(read(kOk + "A: " + much).last, Event::kHeadTooLarge);
  EXPECT_EQ(read(kOk + "A: " + much + "\r\n\r\n").last, Event::kHeadTooLarge);
  EXPECT_EQ(read(kOk + "Transfer-Encoding: chunked\r\n\r\n1;" + much).last, Event::kHeadTooLarge);
  EXPECT_EQ(read(kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + much).last,
            Event::kHeadTooLarge);
}

// However the bytes are cut, the outcome is that of the whole text; also for texts that are broken.
TEST(ReplyReader, CutsDoNotMatter) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::vector<std::string> texts = {
      kOk + "Content-Length: 10\r\nX: y\r\n\r\n0123456789",
      kOk + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5;e\r\n01234\r\n0\r\nT: u\r\n\r\nNEXT",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 No\n\nuntil the end",
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text = texts[random.below(texts.size())];
    if (random.chance(0.7)) {
      const size_t at = random.below(text.size());
      constexpr std::string_view kBytes = "\r\n 0:aF;\xFF";
      switch (random.below(3)) {
        case 0:
          text[at] = kBytes[random.below(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1 + random.below(3));
          break;
        default:
          text.insert(at, 1, kBytes[random.below(kBytes.size())]);
      }
    }
    std::vector<size_t> cuts;
    for (uint64_t i = random.below(6); i > 0; --i)
      cuts.push_back(random.below(text.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    const Read whole = read(text);
    const Read cut = read(text, false, cuts);
    ASSERT_EQ(cut.last, whole.last) << text;
    if (whole.last == Event::kBad) continue;  // found sooner or later
    ASSERT_EQ(cut, whole) << text;
    if (whole.last == Event::kEnd) {
      ASSERT_LE(whole.body.size(), text.size());
    }
  }
}

}  // namespace
}  // namespace windrow::http
