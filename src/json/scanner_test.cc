#include "json/scanner.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/random.h"

namespace windrow {
namespace {

using State = JsonScanner::State;

struct Scanned {
  State state = State::kGoing;
  size_t bytes = 0;
  std::string value;
};

Scanned scan(std::string_view text) {
  JsonScanner scan;
  Scanned scanned;
  scanned.bytes = scan.take(text, scanned.value);
  scanned.state = scan.state();
  return scanned;
}

TEST(JsonScanner, AValueEndsWhereItEnds) {
  EXPECT_EQ(scan(R"({"a": [1, -2.5e+3, true, null, "x\"}"]}, more)").bytes, 39U);
  EXPECT_EQ(scan("{}}").bytes, 2U);
  EXPECT_EQ(scan("12,").bytes, 2U);
  EXPECT_EQ(scan("12,").state, State::kWhole);
  EXPECT_EQ(scan("12").state, State::kGoing) << "more digits may come";
  EXPECT_EQ(scan(R"("a" b)").bytes, 3U);
  EXPECT_EQ(scan("").state, State::kGoing);
}

TEST(JsonScanner, WhatIsNoJsonIsWrongAtTheFirstByteThatCannotBe) {
  struct Case {
    std::string_view text;
    size_t bytes;
  };
  for (const Case& wrong :
       {Case{"{a", 1}, Case{"{\"a\" 1", 5}, Case{"[1,]", 3}, Case{"{\"a\":1,}", 7}, Case{"[1}", 2},
        Case{"01", 1}, Case{"-x", 1}, Case{"1.}", 2}, Case{"trux", 3}, Case{"\"\\x", 2},
        Case{R"("\u12g)", 5}, Case{R"("\ud800")", 7}, Case{R"("\udc00)", 6}, Case{"'a'", 0},
        Case{"True", 0}}) {
    const Scanned scanned = scan(wrong.text);
    if (wrong.text == "01") {
      EXPECT_EQ(scanned.state, State::kWhole);
    } else {
      EXPECT_EQ(scanned.state, State::kWrong) << wrong.text;
    }
    EXPECT_EQ(scanned.bytes, wrong.bytes) << wrong.text;
  }
  const std::string deep(200, '[');
  EXPECT_EQ(scan(deep).state, State::kWrong);
}

TEST(JsonScanner, LineBreaksWithinStringsAreEscaped) {
  const Scanned scanned = scan("{\"a\": \"one\ntwo\t\"}");
  EXPECT_EQ(scanned.state, State::kWhole);
  EXPECT_EQ(scanned.value, R"({"a": "one\u000atwo\u0009"})");
}

// Texts with one byte taken out, put in or changed: what we call a value is one for Boost, and the
// other way round.
TEST(JsonScanner, AgreesWithAnotherReader) {
  const std::string_view seedling =
      R"({"a": [1, -2.5e+3, 0.1, true, false, null], "b\n": {"\u00e9": "x\\y"}, )"
      R"("c": "\ud83d\ude00"})";
  const uint64_t seed = 20261122;
  SCOPED_TRACE(seed);
  Random random(seed);
  int whole = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(seedling);
    for (uint64_t changes = 1 + random.below(2); changes > 0; --changes) {
      const size_t at = random.below(text.size());
      const char byte = seedling[random.below(seedling.size())];
      switch (random.below(3)) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text[at] = byte;
      }
    }
    const Scanned scanned = scan(text);
    boost::system::error_code error;
    boost::json::parse(text, error);
    const bool ours = scanned.state == State::kWhole && scanned.bytes == text.size();
    EXPECT_EQ(ours, !error) << text;
    whole += ours ? 1 : 0;
  }
  EXPECT_GT(whole, 1000);
}

}  // namespace
}  // namespace windrow
