#include "http/request_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace windrow::http {
namespace {

// What came of a stream of bytes: each request as one line, a failure as its status.
std::string read(std::string_view bytes, const RequestLimits& limits = {},
                 std::vector<size_t> cuts = {}) {
  RequestParser parser(limits);
  std::string seen;
  std::string waiting;
  cuts.push_back(bytes.size());
  size_t given = 0;
  for (const size_t cut : cuts) {
    waiting += bytes.substr(given, cut - given);
    given = cut;
    for (;;) {
      size_t consumed = 0;
      const RequestParser::State state = parser.feed(waiting, consumed);
      waiting.erase(0, consumed);
      if (state == RequestParser::State::kFailed)
        return seen + fmt::format("{}", parser.failure_status());
      if (state == RequestParser::State::kWantsMore) break;
      if (state == RequestParser::State::kHead) {
        if (parser.accept_body(limits.body_bytes_max) == RequestParser::State::kFailed)
          return seen + fmt::format("{}", parser.failure_status());
        continue;
      }
      seen += fmt::format("{} {} [{}]", parser.method(), parser.path(), parser.query());
      for (const Headers::Field field : parser.headers())
        seen += fmt::format(" {}={}", field.name, field.value);
      seen += fmt::format(" <{}>{}\n", parser.body(), parser.keep_alive() ? "" : " close");
      parser.next();
    }
  }
  return seen;
}

constexpr std::string_view kStream =
    "GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n"
    "POST /c HTTP/1.1\r\nhost: x\r\nContent-Length: 5\r\n\r\nhello"
    "POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;why=not\r\nhello\r\n7\r\n world!\r\n0\r\nTrailer: t\r\n\r\n"
    "\r\nGET http://host/e?q HTTP/1.0\r\n\r\n";

const std::string kRequests =
    "GET /a [b=1] Host=x <>\n"
    "POST /c [] host=x Content-Length=5 <hello>\n"
    "POST /d [] Host=x Transfer-Encoding=chunked <hello world!>\n"
    "GET /e [q] <> close\n";

TEST(RequestParser, ReadsRequestsThatFollowEachOther) {
  EXPECT_EQ(read(kStream), kRequests);
}

TEST(RequestParser, WhereverTheBytesAreCut) {
  for (size_t cut = 0; cut <= kStream.size(); ++cut)
    EXPECT_EQ(read(kStream, {}, {cut}), kRequests) << cut;
  std::vector<size_t> all;
  for (size_t cut = 0; cut <= kStream.size(); ++cut)
    all.push_back(cut);
  EXPECT_EQ(read(kStream, {}, all), kRequests);
}

TEST(RequestParser, AnEmptyBodyInChunksMayBeCutAnywhere) {
  const std::string request =
      "POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (size_t first = 0; first <= request.size(); ++first) {
    for (size_t second = first; second <= request.size(); ++second) {
      EXPECT_EQ(read(request, {}, {first, second}),
                "POST /d [] Host=x Transfer-Encoding=chunked <>\n");
    }
  }
}

TEST(RequestParser, LimitsCountHoweverTheBytesCome) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::string fields;
  for (int i = 0; i < 20; ++i)
    fields += fmt::format("X-{}: {}\r\n", i, std::string(50, 'v'));
  const std::string request = head + fields + "\r\n";
  std::vector<size_t> bytewise;
  for (size_t cut = 0; cut < request.size(); ++cut)
    bytewise.push_back(cut);
  for (const std::vector<size_t>& cuts : {std::vector<size_t>(), bytewise}) {
    EXPECT_EQ(read(request, {.head_bytes_max = 500}, cuts), "431");
    EXPECT_EQ(read(request, {.headers_max = 20}, cuts), "431");
    EXPECT_NE(read(request, {.headers_max = 21}, cuts), "431");
  }
  // A line without an end.
  EXPECT_EQ(read("GET /" + std::string(1000, 'a'), {.head_bytes_max = 500}), "431");
}

TEST(RequestParser, TheLimitOfTheBodyIsOursInBothForms) {
  const RequestLimits limits{.body_bytes_max = 5};
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(read(head + "Content-Length: 6\r\n\r\n", limits), "413");
  EXPECT_EQ(read(head + "Content-Length: 99999999999999\r\n\r\n", limits), "413");
  EXPECT_EQ(read(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\n", limits), "413");
  EXPECT_NE(
      read(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", limits),
      "413");
  // More than Beast's default of a megabyte.
  const std::string large(3'000'000, 'x');
  EXPECT_NE(read(head + fmt::format("Content-Length: {}\r\n\r\n{}", large.size(), large))
                .find("<" + large + ">"),
            std::string::npos);
}

TEST(RequestParser, WhatTwoServersCouldUnderstandDifferentlyIsRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(read(head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Content-Length: +3\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Content-Length: 3 \r\nContent-Length : 4\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Host: y\r\n\r\n"), "400");  // the next one may read the other
  EXPECT_EQ(read(head + "Transfer-Encoding: gzip, chunked\r\n\r\n"), "501");
  EXPECT_EQ(read(head + "Transfer-Encoding: xchunked\r\n\r\n"), "501");
  EXPECT_EQ(read("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "501");
  EXPECT_EQ(read("GET / HTTP/1.1\r\n\r\n"), "400");
  EXPECT_EQ(read("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), "400");
  EXPECT_EQ(read("hello\r\n\r\n"), "400");
  EXPECT_EQ(read(head + "Expect: miracles\r\n\r\n"), "417");
  EXPECT_EQ(read(head + "Content-Encoding: br\r\n\r\n"), "415");
  EXPECT_EQ(read(head + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n"), "415");
}

TEST(RequestParser, AHeaderOnSeveralLinesIsRefusedHoweverTheBytesCome) {
  for (const std::string_view fold : {" ", "\t", " \t "}) {
    for (const std::string& request :
         {fmt::format("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n{}c\r\n\r\n", fold),
          fmt::format("GET / HTTP/1.1\r\nHost: x\r\nA:\r\n{}b\r\nC: d\r\n\r\n", fold),
          fmt::format("GET / HTTP/1.1\r\n{}Host: x\r\n\r\n", fold),
          fmt::format("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n{}chunked\r\n\r\n",
                      fold)}) {
      std::vector<size_t> bytewise;
      for (size_t cut = 0; cut < request.size(); ++cut)
        bytewise.push_back(cut);
      EXPECT_EQ(read(request), "400") << request;
      EXPECT_EQ(read(request, {}, bytewise), "400") << request;
    }
  }
  // Spaces and tabs within a line, or before its end, are no fold.
  EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: x\r\nA:  b\t c \r\n\r\n"),
            "GET / [] Host=x A=b\t c <>\n");
  RequestParser parser({});
  size_t consumed = 0;
  EXPECT_EQ(parser.feed("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", consumed),
            RequestParser::State::kFailed);
  EXPECT_NE(parser.failure().find("send each header on one line"), std::string::npos);
}

TEST(RequestParser, WhatIsWrongIsNamed) {
  const auto failure_of = [](std::string_view bytes) {
    RequestParser parser({});
    size_t consumed = 0;
    EXPECT_EQ(parser.feed(bytes, consumed), RequestParser::State::kFailed);
    return std::string(parser.failure());
  };
  EXPECT_NE(failure_of("GET / HTTP/1.1\r\n\r\n").find("no Host header"), std::string::npos);
  EXPECT_NE(failure_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").find("several Host"),
            std::string::npos);
  EXPECT_NE(failure_of("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n").find("100-continue"),
            std::string::npos);
  EXPECT_NE(failure_of(std::string_view("\x16\x03\x01\x02\x00\x01", 6)).find("this is TLS"),
            std::string::npos);
}

TEST(RequestParser, AnEndlessChunkHeaderOrTrailerIsCut) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const RequestLimits limits{.head_bytes_max = 1000};
  EXPECT_EQ(read(head + "5;" + std::string(5000, 'e'), limits), "431");
  std::string trailers = head + "0\r\n";
  for (int i = 0; i < 200; ++i)
    trailers += "Trailer: of no use to anybody\r\n";
  EXPECT_EQ(read(trailers, limits), "431");
}

TEST(RequestParser, AnExpectationIsToldOnceAndOnlyBeforeTheBody) {
  RequestParser parser({});
  size_t consumed = 0;
  const std::string head =
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.feed(head, consumed), RequestParser::State::kHead);
  EXPECT_EQ(consumed, head.size());
  EXPECT_EQ(parser.accept_body(2), RequestParser::State::kWantsMore);
  EXPECT_TRUE(parser.take_expectation());
  EXPECT_FALSE(parser.take_expectation());
  parser.next();
  EXPECT_EQ(parser.feed(head + "ok", consumed), RequestParser::State::kHead);
  EXPECT_EQ(parser.accept_body(2), RequestParser::State::kWantsMore);
  EXPECT_EQ(parser.feed("ok", consumed), RequestParser::State::kDone);
  EXPECT_FALSE(parser.take_expectation());
}

// What a body may be is said when its head is known, and only where there is one.
TEST(RequestParser, TheHeadIsToldBeforeAnythingOfTheBody) {
  RequestParser parser({});
  size_t consumed = 0;
  EXPECT_EQ(parser.feed("GET / HTTP/1.1\r\nHost: x\r\n\r\n", consumed),
            RequestParser::State::kDone);
  EXPECT_EQ(parser.content_length(), 0U);
  parser.next();

  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(parser.feed(head + "Content-Length: 5\r\n\r\nhello", consumed),
            RequestParser::State::kHead);
  EXPECT_EQ(parser.path(), "/a");
  EXPECT_EQ(parser.content_length(), 5U);
  EXPECT_EQ(parser.body(), "");
  EXPECT_EQ(parser.accept_body(4), RequestParser::State::kFailed);
  EXPECT_EQ(parser.failure_status(), 413);

  RequestParser chunked({});
  EXPECT_EQ(chunked.feed(head + "Transfer-Encoding: chunked\r\n\r\n", consumed),
            RequestParser::State::kHead);
  EXPECT_EQ(chunked.content_length(), std::nullopt);
  EXPECT_EQ(chunked.accept_body(6, true), RequestParser::State::kWantsMore);
  std::string whole;
  std::string waiting;
  const auto feed = [&](std::string_view bytes) {
    waiting += bytes;
    const RequestParser::State state = chunked.feed(waiting, consumed);
    waiting.erase(0, consumed);
    whole += std::exchange(chunked.body(), {});
    return state;
  };
  EXPECT_EQ(feed("4\r\nabcd\r\n"), RequestParser::State::kWantsMore);
  EXPECT_EQ(feed("2\r\nef\r\n"), RequestParser::State::kWantsMore);
  EXPECT_EQ(whole, "abcdef");
  EXPECT_EQ(feed("1\r\ng\r\n"), RequestParser::State::kFailed);
  EXPECT_EQ(chunked.failure_status(), 413);
}

// Any bytes at all, in any pieces: no crash, no more memory than the limits, and never a request
// whose body is beyond them.
TEST(RequestParser, TakesAnyBytes) {
  constexpr std::string_view kPieces[] = {"GET ",
                                          "POST ",
                                          "/a",
                                          " HTTP/1.1",
                                          "\r\n",
                                          "\r\n\r\n",
                                          "Host: x",
                                          "Content-Length: ",
                                          "3",
                                          "Transfer-Encoding: chunked",
                                          "0",
                                          "5;x\r\n",
                                          ":",
                                          " ",
                                          "\t",
                                          "abc",
                                          "\x80",
                                          "Expect: 100-continue",
                                          "Connection: close",
                                          ",",
                                          "ffffffffffffffff"};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    RequestParser parser({.head_bytes_max = 300, .headers_max = 5, .body_bytes_max = 50});
    std::string waiting;
    for (int i = 0; i < 200; ++i) {
      waiting += kPieces[random.below(std::size(kPieces))];
      if (random.chance(0.5)) continue;
      size_t consumed = 0;
      const RequestParser::State state = parser.feed(waiting, consumed);
      ASSERT_LE(consumed, waiting.size()) << "seed " << seed;
      waiting.erase(0, consumed);
      if (state == RequestParser::State::kFailed) break;
      if (state == RequestParser::State::kHead &&
          parser.accept_body(50) == RequestParser::State::kFailed)
        break;
      if (state == RequestParser::State::kDone) {
        ASSERT_LE(parser.body().size(), 50U) << "seed " << seed;
        parser.next();
      }
    }
  }
}

}  // namespace
}  // namespace windrow::http
