#include "batch/fast_row_scanner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "batch/row_reader.h"

namespace windrow::batch {
namespace {

// What reading the whole line says.
std::optional<ScannedRow> read(const std::string& line) {
  const RowReader reader(RowRules{.body = {}, .models = {"m"}});
  const auto opened = reader.open({.number = 1, .bytes = line, .length = line.size()});
  const auto* envelope = std::get_if<Envelope>(&opened);
  if (envelope == nullptr) return std::nullopt;
  return ScannedRow{envelope->key.identity, envelope->key.fingerprint};
}

void expect_as_read(const std::string& line) {
  const auto scanned = FastRowScanner().scan(line);
  const auto whole = read(line);
  ASSERT_TRUE(scanned.has_value()) << line;
  ASSERT_TRUE(whole.has_value()) << line;
  EXPECT_EQ(scanned->identity, whole->identity) << line;
  EXPECT_EQ(scanned->fingerprint, whole->fingerprint) << line;
}

TEST(FastRowScanner, SeesWhatReadingSees) {
  expect_as_read(R"({"custom_id":"a","method":"POST","url":"/v1/x","body":{"a":[1,{"b":"c"}]}})");
  expect_as_read(
      R"( { "url" : "u" , "body" : { "a" : 1.50 , "b" : [ ] } , "custom_id" : "a b" } )");
  expect_as_read(R"({"custom_id":"a","url":"u","body":{"s":"} \" \\", "t":"\\\\"}})");
  expect_as_read(R"({"custom_id":"a","url":"u","body":{}})");
  expect_as_read("{\"custom_id\":\"a\",\"url\":\"u\",\"body\":{\"s\":\" \xC3\xA9  [\"\t}}\r");
}

TEST(FastRowScanner, LeavesWhatIsUnusualToTheReader) {
  for (const char* line : {
           "",
           "{",
           "[]",
           "7",
           R"({"custom_id":"a"})",
           R"({"custom_id":"a","url":"u"})",
           R"({"custom_id":"a","body":{}})",
           R"({"url":"u","body":{}})",
           R"({"custom_id":"","url":"u","body":{}})",
           R"({"custom_id":"a","url":"","body":[]})",
           R"({"custom_id":"a","body":{},"url":"u"})",
           R"({"custom_id":"a","url":"u","body":{},"body":{}})",
           R"({"custom_id":"a","custom_id":"b","url":"u","body":{}})",
           R"({"custom_id":"\u0061","url":"u","body":{}})",
           R"({"custom\u005fid":"a","url":"u","body":{}})",
           R"({"custom_id":7,"url":"u","body":{}})",
           R"({"custom_id":"a","url":"u","method":"GET","body":{}})",
           R"({"custom_id":"a","url":"u","body":{},"more":1})",
           R"({"custom_id":"a","url":"u","body":{}} x)",
           R"({"custom_id":"a","url":"u","body":{}},)",
           R"({"custom_id":"a","url":"u","body":{})",
           R"({"custom_id":"a","url":"u","body":{"x})",
           R"({"custom_id":"a","url":"u","body":{"x\"}})",
           R"({"custom_id" "a","url":"u","body":{}})",
           R"({"custom_id":"a" "url":"u","body":{}})",
           "{\"custom_id\":\"\xC3\xA9\",\"url\":\"u\",\"body\":{}}",
           "{\"custom_id\":\"\xC3\",\"url\":\"u\",\"body\":{}}",
           "{\"custom_id\":\"a\tb\",\"url\":\"u\",\"body\":{}}",
       }) {
    EXPECT_FALSE(FastRowScanner().scan(line).has_value()) << line;
  }
}

// A line of any form that is one, and whatever a few changed bytes make of it.
TEST(FastRowScanner, AgreesWithTheReaderOnAnyLine) {
  Random random(17);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random.below(from.size())];
  };
  const auto space = [&] { return pick({"", "", "", " ", "\t ", "\r"}); };
  FastRowScanner scanner;
  int scanned = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string body = "{";
    for (uint64_t member = random.below(4); member > 0; --member) {
      const std::string value = pick({"1", "-1.5e3", "null", R"("")", R"("a \" b")", R"("\\")",
                                      "[1, 2]", R"([{"a":"]"}])", R"({"b" : {}})", "\"\xC3\xA9\""});
      body += fmt::format("{}\"k{}\"{}:{}{}{}", space(), member, space(), space(), value, space());
      if (member > 1) body += ',';
    }
    body += "}";
    const std::vector<std::pair<std::string, std::string>> members = {
        {"custom_id", pick({R"("a")", R"("row 7")", R"("\u0061")", "7", R"("")"})},
        {"url", pick({R"("/v1/chat/completions")", R"("u")", "null"})},
        {"method", pick({R"("POST")", R"("GET")"})},
        {"body", body}};
    std::string line = space() + "{";
    size_t first = random.below(8) == 0 ? random.below(4) : 0;
    for (size_t k = 0; k < members.size(); ++k) {
      const auto& [name, value] = members[(first + k) % members.size()];
      if (random.below(20) == 0) continue;
      if (!line.ends_with('{')) line += ',';
      line += fmt::format("{}\"{}\"{}:{}{}{}", space(), name, space(), space(), value, space());
    }
    line += "}" + space();
    if (random.below(3) == 0) {
      line[random.below(line.size())] = pick({"\"", "\\", "{", "}", ",", " ", "x", "\xFF"})[0];
    }
    const auto row = scanner.scan(line);
    const auto whole = read(line);
    if (!row || !whole) continue;
    ++scanned;
    ASSERT_EQ(row->identity, whole->identity) << line;
    ASSERT_EQ(row->fingerprint, whole->fingerprint) << line;
  }
  EXPECT_GT(scanned, 2'000);
}

}  // namespace
}  // namespace windrow::batch
