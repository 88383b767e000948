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

TEST(JsonText, TextIsEscaped) {
  std::string text = "x";
  append_json("a\"b\\\n\x01é", text);
  EXPECT_EQ(text, "x\"a\\\"b\\\\\\n\\u0001é\"");
}

}  // namespace
}  // namespace windrow
