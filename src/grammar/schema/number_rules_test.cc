#include "grammar/schema/number_rules.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "base/random.h"

namespace windrow::grammar {
namespace {

Decimal number(std::string_view text) {
  return *Decimal::parse(text);
}

TEST(Decimal, HasOneTextForEqualNumbers) {
  for (const auto& [text, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
           {"1.0", "1"},
           {"10e-1", "1"},
           {"-0", "0"},
           {"-0.0e5", "0"},
           {"100", "100"},
           {"1e2", "100"},
           {"0.000001", "0.000001"},
           {"0.0000001", "1e-7"},
           {"123456789012345678901", "123456789012345678901"},
           {"1e21", "1e+21"},
           {"-1.25e22", "-1.25e+22"},
           {"12.50", "12.5"},
           {"-0.05", "-0.05"}}) {
    EXPECT_EQ(number(text).text(), canonical) << text;
  }
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", "1.", ".5", "1e", "1e+", "0x1", "1 ", "1e99999999"}) {
    EXPECT_FALSE(Decimal::parse(text)) << text;
  }
}

TEST(Decimal, ReadsTheNumbersOfJson) {
  EXPECT_EQ(Decimal::of(boost::json::parse("0.1"))->text(), "0.1");
  EXPECT_EQ(Decimal::of(boost::json::parse("-9223372036854775808"))->text(),
            "-9223372036854775808");
  EXPECT_EQ(Decimal::of(boost::json::parse("18446744073709551615"))->text(),
            "18446744073709551615");
  EXPECT_FALSE(Decimal::of(boost::json::parse("\"1\"")));
}

TEST(Decimal, ComparesAndRoundsLikeIntegersScaled) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t a = random.between(-3'000, 3'000);
    const int64_t b = random.between(-3'000, 3'000);
    const Decimal left = Decimal::from_scaled(a, 2);
    const Decimal right = Decimal::from_scaled(b, 2);
    ASSERT_EQ(left <=> right, a <=> b) << a << " " << b;
    const auto below = static_cast<int64_t>(a >= 0 ? a / 100 : -((-a + 99) / 100));
    ASSERT_EQ(left.floor(), Decimal(below)) << a;
    ASSERT_EQ(left.ceiling(), Decimal(a % 100 == 0 ? below : below + 1)) << a;
    ASSERT_EQ(*Decimal::parse(left.text()), left);
    if (b <= 0) continue;
    ASSERT_EQ(left.is_multiple_of(right), a % b == 0) << a << " " << b;
  }
}

TEST(NumberRules, KnowWhetherAnyNumberIsLeft) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    // Tenths; the step too. Tried: every tenth in reach.
    const int64_t low = random.between(-60, 60);
    const int64_t high = low + random.between(-3, 30);
    const int64_t step = random.between(1, 50);
    NumberRules rules;
    rules.raise_min(Decimal::from_scaled(low, 1), random.chance(0.3));
    rules.lower_max(Decimal::from_scaled(high, 1), random.chance(0.3));
    const bool stepped = random.chance(0.7);
    if (stepped) rules.join_multiple(Decimal::from_scaled(step, 1));
    const int64_t other = random.between(1, 60);
    const bool excludes = random.chance(0.4);
    if (excludes) rules.multiples_not.push_back(Decimal::from_scaled(other, 1));
    const int64_t denied = random.between(low, low + 5);
    const bool denies = random.chance(0.4);
    if (denies) rules.denied.push_back(Decimal::from_scaled(denied, 1));
    bool integer = false;
    bool number = false;
    for (int64_t tenths = low; tenths <= high; ++tenths) {
      const bool within = (tenths > low || !rules.min_excluded) &&
                          (tenths < high || !rules.max_excluded) &&
                          (!stepped || tenths % step == 0) && !(excludes && tenths % other == 0) &&
                          !(denies && tenths == denied);
      ASSERT_EQ(holds(rules, Decimal::from_scaled(tenths, 1)), within);
      number = number || within;
      integer = integer || (within && tenths % 10 == 0);
    }
    if (!stepped && low < high) number = true;  // hundredths and so on are between
    ASSERT_EQ(any_number(rules), number) << low << " " << high << " " << step;
    ASSERT_EQ(any_integer(rules), integer) << low << " " << high << " " << step;
  }
}

// The bounds of an automaton leave out what says nothing more, and exclude the same numbers.
TEST(NumberRules, BoundsExcludeTheSameMultiples) {
  constexpr uint64_t kSeed = 12;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (int i = 0; i < 2'000; ++i) {
    NumberRules rules;  // in tenths
    const int64_t step = random.between(1, 60);
    if (random.chance(0.8)) rules.join_multiple(Decimal::from_scaled(step, 1));
    for (uint64_t more = random.below(4); more > 0; --more)
      rules.multiples_not.push_back(Decimal::from_scaled(random.between(1, 90), 1));
    for (const bool integers : {true, false}) {
      const NumberBounds bounds = bounds_of(rules, integers);
      NumberRules simple;
      if (bounds.multiple_of) simple.join_multiple(*Decimal::parse(*bounds.multiple_of));
      for (const std::string& other : bounds.multiples_not)
        simple.multiples_not.push_back(*Decimal::parse(other));
      EXPECT_LE(simple.multiples_not.size(), rules.multiples_not.size());
      for (int64_t tenths = -400; tenths <= 400; tenths += integers ? 10 : 1) {
        const Decimal number = Decimal::from_scaled(tenths, 1);
        ASSERT_EQ(holds(rules, number), holds(simple, number)) << number.text() << " of " << step;
      }
    }
  }
  NumberRules known;
  known.join_multiple(Decimal(429));
  known.multiples_not = {Decimal(6), Decimal(7), Decimal(8)};
  EXPECT_EQ(bounds_of(known, true).multiples_not, (std::vector<std::string>{"2", "7"}));
}

TEST(NumberRules, ImplyWhatIsWeaker) {
  NumberRules strong;
  strong.raise_min(Decimal(3), false);
  strong.join_multiple(Decimal(6));
  strong.denied.push_back(Decimal(12));
  EXPECT_TRUE(implies(strong, {}));
  EXPECT_TRUE(implies(strong, strong));
  NumberRules weak;
  weak.raise_min(Decimal(2), true);
  EXPECT_TRUE(implies(strong, weak));
  weak.join_multiple(Decimal(2));
  EXPECT_TRUE(implies(strong, weak));
  weak.denied.push_back(Decimal(12));
  EXPECT_TRUE(implies(strong, weak));
  weak.raise_min(Decimal(3), true);
  EXPECT_FALSE(implies(strong, weak));
  NumberRules other;
  other.multiples_not.push_back(Decimal(5));
  EXPECT_FALSE(implies(strong, other));
  EXPECT_FALSE(implies({}, strong));
}

}  // namespace
}  // namespace windrow::grammar
