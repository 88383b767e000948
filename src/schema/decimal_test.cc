#include "schema/decimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/random.h"

namespace windrow::schema {
namespace {

Decimal of(std::string_view text) {
  return Decimal::from_text(text);
}

TEST(Decimal, OneValueHasOneForm) {
  for (const char* text : {"1", "1.0", "1.000", "10e-1", "0.1e1", "0.01E+2", "100e-2"})
    EXPECT_EQ(of(text), of("1")) << text;
  for (const char* text : {"0", "-0", "0.0", "0e5", "-0.000e-99"}) {
    EXPECT_EQ(of(text), Decimal()) << text;
    EXPECT_EQ(of(text).hash(), Decimal().hash());
  }
  EXPECT_EQ(of("1.0").hash(), of("10e-1").hash());
  EXPECT_NE(of("1"), of("-1"));
  EXPECT_NE(of("1"), of("1.0000000000000000000000000001"));
}

TEST(Decimal, OrderIsThatOfTheValues) {
  const std::vector<std::string> ascending = {"-1e400",
                                              "-123456789012345678901",
                                              "-20",
                                              "-2",
                                              "-1.5",
                                              "-0.002",
                                              "-1e-400",
                                              "0",
                                              "1e-400",
                                              "0.002",
                                              "0.0020001",
                                              "1",
                                              "1.5",
                                              "2",
                                              "10",
                                              "11",
                                              "20",
                                              "99.99",
                                              "100",
                                              "9007199254740992",
                                              "9007199254740993",
                                              "1e30",
                                              "1.0000000000000000000000000000001e30",
                                              "1e400"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t k = 0; k < ascending.size(); ++k)
      EXPECT_EQ(of(ascending[i]) <=> of(ascending[k]), i <=> k)
          << ascending[i] << " " << ascending[k];
  }
}

TEST(Decimal, JsonNumbersAreTheirShortestText) {
  EXPECT_EQ(*Decimal::from_json(0.1), of("0.1"));
  EXPECT_EQ(*Decimal::from_json(1e20), of("100000000000000000000"));
  EXPECT_EQ(*Decimal::from_json(std::numeric_limits<int64_t>::min()), of("-9223372036854775808"));
  EXPECT_EQ(*Decimal::from_json(std::numeric_limits<uint64_t>::max()), of("18446744073709551615"));
  EXPECT_FALSE(Decimal::from_json(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(Decimal::from_json(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(Decimal::from_json("1"));
}

TEST(Decimal, CountsAreWholeAndStopAtTheEnd) {
  EXPECT_EQ(of("0").to_count(), 0U);
  EXPECT_EQ(of("12e2").to_count(), 1200U);
  EXPECT_EQ(of("18446744073709551615").to_count(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(of("18446744073709551616").to_count(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(of("1e999999").to_count(), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(of("-1").to_count());
  EXPECT_FALSE(of("1.5").to_count());
}

TEST(Decimal, MultiplesAreThoseOfWholeNumbers) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    // Both as whole numbers of 10^-3.
    const int64_t divisor = random.between(1, 5000);
    const int64_t value = random.chance(0.5) ? divisor * random.between(-1000, 1000)
                                             : random.between(-100'000, 100'000);
    const Decimal a = of(fmt::format("{}e-3", value));
    const Decimal b = of(fmt::format("{}e-3", divisor));
    EXPECT_EQ(a.is_multiple_of(b), value % divisor == 0) << "seed " << seed;
  }
  EXPECT_TRUE(of("1e1000000000").is_multiple_of(of("7e-1000000000")) == false);
  EXPECT_TRUE(of("1e1000000000").is_multiple_of(of("8")));
  EXPECT_TRUE(of("36893488147419103230").is_multiple_of(of("18446744073709551615")));
}

TEST(Decimal, PeopleReadIt) {
  for (const char* text : {"0", "-12.5", "0.001", "100000", "123456789012345678901", "-0.5"})
    EXPECT_EQ(of(text).to_string(), text);
  EXPECT_EQ(of("1e30").to_string(), "1e30");
  EXPECT_EQ(of("-1.5e-30").to_string(), "-1.5e-30");
  EXPECT_LT(of(std::string(1'000'000, '7')).to_string().size(), 60U);
}

}  // namespace
}  // namespace windrow::schema
