#include "json/writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/random.h"

namespace windrow {
namespace {

std::string text_of(float value) {
  std::string text;
  append_json(value, text);
  return text;
}

TEST(JsonText, FloatsHaveAsFewDigitsAsTheyNeed) {
  EXPECT_EQ(text_of(0.1F), "0.1");
  EXPECT_EQ(text_of(-0.026083292F), "-0.026083292");
  EXPECT_EQ(text_of(1.0F), "1.0");
  EXPECT_EQ(text_of(0.0F), "0.0");
  EXPECT_EQ(text_of(-9999.0F), "-9999.0");
  EXPECT_EQ(text_of(std::numeric_limits<float>::infinity()), "null");
  EXPECT_EQ(text_of(std::numeric_limits<float>::quiet_NaN()), "null");
}

TEST(JsonText, EveryFloatIsReadBackAsItWas) {
  constexpr uint64_t kSeed = 7;
  Random random(kSeed);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.next()));
    if (!std::isfinite(value)) continue;
    const std::string text = text_of(value);
    ASSERT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
    ASSERT_TRUE(boost::json::parse(text).is_double()) << text;
    // A reader of doubles narrows to the same.
    ASSERT_EQ(static_cast<float>(boost::json::parse(text).get_double()), value) << text;
  }
}

TEST(JsonText, EveryDoubleIsReadBackAsItWas) {
  constexpr uint64_t kSeed = 8;
  Random random(kSeed);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<double>(random.next());
    if (!std::isfinite(value)) continue;
    std::string text;
    append_json(value, text);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    ASSERT_TRUE(boost::json::parse(text).is_double()) << text;
  }
}

TEST(JsonText, ACompactValueHasNoSpaceAndNumbersAsPeopleWriteThem) {
  std::string text = "x=";
  append_compact_json(
      boost::json::parse(
          R"({"a": 1.0, "b": [1, -0.5, null, true], "c": {}, "d": [], "e\"": "é\n", "f": 1e5})"),
      text);
  EXPECT_EQ(text, R"(x={"a":1.0,"b":[1,-0.5,null,true],"c":{},"d":[],"e\"":"é\n","f":100000.0})");
}

TEST(JsonText, TextIsEscaped) {
  std::string text = "x";
  append_json("a\"b\\\n\x01é", text);
  EXPECT_EQ(text, "x\"a\\\"b\\\\\\n\\u0001é\"");
}

TEST(PrettyJson, OneLineHasNumbersAsPeopleWriteThem) {
  EXPECT_EQ(
      plain_json(boost::json::parse(R"({"a":0.5,"b":[1,2.25,-3,4.0],"c":{"d":null},"e":"x\"y"})")),
      R"({"a": 0.5, "b": [1, 2.25, -3, 4.0], "c": {"d": null}, "e": "x\"y"})");
  EXPECT_EQ(plain_json(boost::json::parse("[]")), "[]");
  EXPECT_EQ(plain_json(boost::json::parse("{}")), "{}");
  EXPECT_EQ(plain_json(1e300), "1e+300");
  EXPECT_EQ(plain_json(boost::json::value("caf\u00e9")), "\"caf\u00e9\"");
}

TEST(PrettyJson, ADocumentHasAMemberALine) {
  const auto value = boost::json::parse(
      R"({"a":0.5,"b":{"c":1},"empty":[],"long":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
      R"("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",{"d":2}]})");
  EXPECT_EQ(pretty_json(value),
            "{\n"
            "  \"a\": 0.5,\n"
            "  \"b\": {\"c\": 1},\n"
            "  \"empty\": [],\n"
            "  \"long\": [\n"
            "    \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\n"
            "    \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n"
            "    {\"d\": 2}\n"
            "  ]\n"
            "}\n");
  EXPECT_EQ(boost::json::parse(pretty_json(value)), value);
  EXPECT_EQ(pretty_json(boost::json::parse("{}")), "{}\n");
}

}  // namespace
}  // namespace windrow
