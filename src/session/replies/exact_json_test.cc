#include "session/replies/exact_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <string>

#include "base/random.h"
#include "json/limits.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

double read_number(const std::string& written) {
  const auto parsed = parse_exact_json("[" + written + "]");
  return std::get<json::value>(parsed).get_array().at(0).get_double();
}

TEST(ExactJson, NumbersOfSeventeenDigitsComeBackBitByBit) {
  Random random(1);
  uint64_t long_ones = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double number = -random.unit() * 20;
    const std::string written = fmt::format("{}", number);
    if (written.size() >= 19) ++long_ones;
    ASSERT_EQ(std::bit_cast<uint64_t>(read_number(written)), std::bit_cast<uint64_t>(number))
        << written;
  }
  EXPECT_GT(long_ones, 5'000);
}

TEST(ExactJson, DoublesOfEverySizeComeBackBitByBit) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const double number = std::bit_cast<double>(random.next());
    if (!std::isfinite(number)) continue;
    const std::string written = fmt::format("{:.16e}", number);
    ASSERT_EQ(std::bit_cast<uint64_t>(read_number(written)), std::bit_cast<uint64_t>(number))
        << written;
  }
}

TEST(ExactJson, WhatIsWrittenAgainIsTheSameNumber) {
  const std::string text = "[-0.12345678901234568,-9999.0,1e-300,-0.0]";
  const auto parsed = parse_exact_json(text);
  const auto again = parse_exact_json(json::serialize(std::get<json::value>(parsed)));
  EXPECT_EQ(std::get<json::value>(parsed), std::get<json::value>(again));
}

TEST(ExactJson, EverythingElseIsAsTheLibraryReadsIt) {
  for (const std::string_view text :
       {R"({"a":[1,-2,18446744073709551615,1.5,true,false,null],"b":{"c":"x\"\u00e9\n","":{}}})",
        "[]", " { } ", R"([[[["a"]]],"b",[{}]])", "1e400", "-1e-400"}) {
    const auto parsed = parse_exact_json(text);
    ASSERT_TRUE(std::holds_alternative<json::value>(parsed)) << text;
    EXPECT_EQ(std::get<json::value>(parsed), json::parse(text)) << text;
  }
}

TEST(ExactJson, SaysWhereATextIsNone) {
  EXPECT_EQ(std::get<std::string>(parse_exact_json("[1,]")), "syntax error at byte 4");
  EXPECT_EQ(std::get<std::string>(parse_exact_json("[1")), "incomplete JSON at byte 3");
  EXPECT_EQ(std::get<std::string>(parse_exact_json("{} x")), "extra data at byte 4");
  EXPECT_EQ(std::get<std::string>(parse_exact_json("")), "incomplete JSON at byte 1");
  EXPECT_EQ(std::get<std::string>(parse_exact_json("[\"\xff\"]")), "syntax error at byte 3");
  const std::string deep =
      std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']');
  EXPECT_NE(std::get<std::string>(parse_exact_json(deep)).find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace windrow::session
