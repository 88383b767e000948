#include "session/replies/blob_scanner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "json/limits.h"

namespace windrow::session {
namespace {

using State = BlobScanner::State;

// What it got, as text.
struct TextSink final : BlobSink {
  std::string got;
  size_t pieces = 0;
  std::string refused;  // text that it refuses

  bool on_text(std::string_view text) override {
    got += text;
    ++pieces;
    return refused.empty() || got.find(refused) == std::string::npos;
  }
  bool on_number(int64_t number) override {
    got += fmt::format("{} ", number);
    return true;
  }
  bool on_open(size_t depth) override {
    got += fmt::format("<{} ", depth);
    return true;
  }
  bool on_close(size_t depth) override {
    got += fmt::format("{}> ", depth);
    return true;
  }
  bool on_end() override {
    got += '.';
    return true;
  }
};

struct Scanned {
  State state = State::kGoing;
  std::string rest;
  std::string blob;
};

Scanned scan(std::string_view text, size_t piece_bytes = 1000, size_t rest_bytes_max = 1000) {
  TextSink sink;
  BlobScanner scanner({{"blob", &sink}, {"dropped", nullptr}}, rest_bytes_max);
  while (!text.empty() && scanner.take(text.substr(0, piece_bytes)))
    text.remove_prefix(std::min(piece_bytes, text.size()));
  return {scanner.state(), scanner.rest(), sink.got};
}

TEST(BlobScanner, PutsNullInThePlaceOfABlob) {
  for (const size_t piece : {1UL, 2UL, 3UL, 7UL, 1000UL}) {
    const Scanned scanned =
        scan(R"( {"a": [1, {"blob" : "QUJD", "b": "x\"y"}], "dropped":"ZZ"} )", piece);
    EXPECT_EQ(scanned.state, State::kWhole);
    EXPECT_EQ(scanned.rest, R"( {"a": [1, {"blob" : null, "b": "x\"y"}], "dropped":null})");
    EXPECT_EQ(scanned.blob, "QUJD.");
  }
}

TEST(BlobScanner, HandsOnTheNumbersOfNestedArrays) {
  for (const size_t piece : {1UL, 2UL, 1000UL}) {
    const Scanned scanned = scan(R"({"blob": [ [0, -12,7],[] , [[5]]], "x":1})", piece);
    EXPECT_EQ(scanned.state, State::kWhole);
    EXPECT_EQ(scanned.rest, R"({"blob": null, "x":1})");
    EXPECT_EQ(scanned.blob, "<1 0 -12 7 1> <1 1> <1 <2 5 2> 1> .");
  }
}

TEST(BlobScanner, EmptyBlobsEndAtOnce) {
  EXPECT_EQ(scan(R"({"blob":""})").blob, ".");
  EXPECT_EQ(scan(R"({"blob":[]})").blob, ".");
}

TEST(BlobScanner, TheFirstOfSeveralIsHandedOnAndTheOthersAreDropped) {
  const Scanned scanned = scan(R"([{"blob":null},{"blob":"A"},{"blob":"B"},{"blob":[1,[2]]}])");
  EXPECT_EQ(scanned.state, State::kWhole);
  EXPECT_EQ(scanned.rest, R"([{"blob":null},{"blob":null},{"blob":null},{"blob":null}])");
  EXPECT_EQ(scanned.blob, "A.");
}

TEST(BlobScanner, LeavesOtherValuesAndOtherPlacesOfTheName) {
  for (const std::string_view text :
       {R"({"blob":null})", R"({"blob":{"a":"b"}})", R"({"blob":12})", R"(["blob","A"])",
        R"({"a":"blob","b":"A"})", R"({"blobs":"A","blo":"B"})", R"({"a\"blob":"A"})"}) {
    const Scanned scanned = scan(text, 1);
    EXPECT_EQ(scanned.state, State::kWhole) << text;
    EXPECT_EQ(scanned.rest, text);
    EXPECT_EQ(scanned.blob, "") << text;
  }
}

TEST(BlobScanner, AKeyMayBeWrittenWithEscapes) {
  const Scanned scanned = scan(R"({"bl\u006fb":"A","\u0062lob\n":"B"})");
  EXPECT_EQ(scanned.rest, R"({"bl\u006fb":null,"\u0062lob\n":"B"})");
  EXPECT_EQ(scanned.blob, "A.");
}

TEST(BlobScanner, UnescapesTheTextOfABlob) {
  for (const size_t piece : {1UL, 2UL, 5UL, 1000UL}) {
    const Scanned scanned = scan(R"({"blob":"a\/b\\\"\n\u0041\u00e9\uD83D\uDE00\u0000z"})", piece);
    EXPECT_EQ(scanned.state, State::kWhole);
    EXPECT_EQ(scanned.blob, std::string("a/b\\\"\nA\u00e9\U0001F600\0z.", 16));
  }
}

TEST(BlobScanner, ALongTextIsHandedOnWhereItLies) {
  const std::string text = fmt::format(R"({{"blob":"{}"}})", std::string(100'000, 'Q'));
  TextSink sink;
  BlobScanner scanner({{"blob", &sink}}, 100);
  EXPECT_TRUE(scanner.take(text));
  EXPECT_EQ(scanner.state(), State::kWhole);
  EXPECT_EQ(sink.pieces, 1);
  EXPECT_EQ(sink.got.size(), 100'001);
  EXPECT_EQ(scanner.bytes(), text.size());
}

TEST(BlobScanner, FindsTheEndOfATextAtEveryPlace) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string text(length, 'x');
    const Scanned scanned = scan(fmt::format(R"({{"a":"{0}","blob":"{0}"}})", text));
    EXPECT_EQ(scanned.state, State::kWhole);
    EXPECT_EQ(scanned.rest, fmt::format(R"({{"a":"{}","blob":null}})", text));
    EXPECT_EQ(scanned.blob, text + ".");
  }
}

TEST(BlobScanner, SaysThatItIsNoJson) {
  for (const std::string_view text : {"x",
                                      "1",
                                      "\"a\"",
                                      "]",
                                      "{]",
                                      "[}",
                                      "{} x",
                                      "{}{}",
                                      R"({"blob" "A"})",
                                      R"({"blob":"A" "B"})",
                                      R"({"a":1 "b"})",
                                      R"({:1})",
                                      R"({,})",
                                      "[,]",
                                      R"({"a"})",
                                      R"({"a",1})",
                                      "[\"\n\"]",
                                      "{\"blob\":\"\x01\"}",
                                      R"({"blob":"\x"})",
                                      R"({"blob":"\u00g0"})",
                                      R"({"blob":"\uDE00"})",
                                      R"({"blob":"\uD83Dx"})",
                                      R"({"blob":"\uD83D"})",
                                      R"({"blob":"\uD83D\n"})",
                                      R"({"blob":"\uD83D\uD83D"})",
                                      R"({"blob":[1,]})",
                                      R"({"blob":[,1]})",
                                      R"({"blob":[1 2]})",
                                      R"({"blob":[01]})",
                                      R"({"blob":[-]})",
                                      R"({"blob":[--1]})",
                                      R"({"blob":[1}})",
                                      R"({"blob":[[1]})",
                                      R"({"dropped":[1 2]})",
                                      "[(]"}) {
    EXPECT_EQ(scan(text).state, State::kWrong) << text;
    EXPECT_EQ(scan(text, 1).state, State::kWrong) << text;
  }
}

TEST(BlobScanner, TextThatBreaksOffIsNotWhole) {
  const std::string_view text = R"({"a":"b","blob":"A\u0041","dropped":[1,[2]],"c":[true]})";
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_EQ(scan(text.substr(0, length)).state, State::kGoing) << text.substr(0, length);
  EXPECT_EQ(scan(text).state, State::kWhole);
}

TEST(BlobScanner, RefusesWhatIsNoListOfWholeNumbers) {
  for (const std::string_view text :
       {R"({"blob":[1.5]})", R"({"blob":[1e3]})", R"({"blob":["a"]})", R"({"blob":[null]})",
        R"({"blob":[{"a":1}]})", R"({"blob":[9223372036854775808]})",
        R"({"blob":[-9223372036854775809]})", R"({"dropped":[[0.5]]})"}) {
    EXPECT_EQ(scan(text).state, State::kRefused) << text;
  }
  EXPECT_EQ(scan(R"({"blob":[9223372036854775807,-9223372036854775808]})").blob,
            "9223372036854775807 -9223372036854775808 .");
}

TEST(BlobScanner, ASinkMayRefuse) {
  TextSink sink;
  sink.refused = "BC";
  BlobScanner scanner({{"blob", &sink}}, 100);
  EXPECT_TRUE(scanner.take(R"({"blob":"AB)"));
  EXPECT_FALSE(scanner.take(R"(C"})"));
  EXPECT_EQ(scanner.state(), State::kRefused);
  EXPECT_FALSE(scanner.take("}"));
}

TEST(BlobScanner, TheRestHasALimit) {
  const std::string text =
      fmt::format(R"({{"a":"{}","blob":"{}"}})", std::string(20, 'a'), std::string(500, 'b'));
  const size_t rest = std::string_view(R"({"a":"","blob":null})").size() + 20;
  EXPECT_EQ(scan(text, 3, rest).state, State::kWhole);
  EXPECT_EQ(scan(text, 3, rest - 1).state, State::kTooLong);
  EXPECT_EQ(scan(text, 1000, 10).state, State::kTooLong);
}

TEST(BlobScanner, NestingHasALimit) {
  const std::string open(kJsonDepthMax, '[');
  const std::string close(kJsonDepthMax, ']');
  EXPECT_EQ(scan(open + close).state, State::kWhole);
  EXPECT_EQ(scan("[" + open + close + "]").state, State::kWrong);
}

}  // namespace
}  // namespace windrow::session
