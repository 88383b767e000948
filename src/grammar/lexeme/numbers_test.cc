// Numbers are compared by a spelling of the test's own: all digits padded to one width.
#include "grammar/lexeme/numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

// A number without an exponent, such that numbers compare as these do.
struct Padded {
  int sign = 0;
  std::string digits;  // 45 before the point and 45 behind it

  friend std::strong_ordering operator<=>(const Padded& a, const Padded& b) {
    if (a.sign != b.sign) return a.sign <=> b.sign;
    return a.sign < 0 ? b.digits.compare(a.digits) <=> 0 : a.digits.compare(b.digits) <=> 0;
  }
  friend bool operator==(const Padded& a, const Padded& b) {
    return (a <=> b) == std::strong_ordering::equal;
  }
};

Padded padded(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  std::string integer(text.substr(0, point));
  std::string fraction(point < text.size() ? text.substr(point + 1) : "");
  integer.insert(0, 45 - integer.size(), '0');
  fraction.append(45 - fraction.size(), '0');
  Padded result{negative ? -1 : 1, integer + fraction};
  if (result.digits.find_first_not_of('0') == std::string::npos) result.sign = 0;
  return result;
}

class Within {
 public:
  explicit Within(const NumberBounds& bounds) : bounds_(bounds) {
    if (bounds.min) min_ = padded(*bounds.min);
    if (bounds.max) max_ = padded(*bounds.max);
  }

  bool operator()(std::string_view text) const {
    const Padded number = padded(text);
    if (min_ && (number < *min_ || (bounds_.min_excluded && number == *min_))) return false;
    return !max_ || !(number > *max_ || (bounds_.max_excluded && number == *max_));
  }

 private:
  NumberBounds bounds_;
  std::optional<Padded> min_;
  std::optional<Padded> max_;
};

std::string in_words(const NumberBounds& bounds) {
  return fmt::format("{}{} to {}{}", bounds.min.value_or("any"), bounds.min_excluded ? "!" : "",
                     bounds.max.value_or("any"), bounds.max_excluded ? "!" : "");
}

std::string decimal(int hundredths, int places) {
  const int size = std::abs(hundredths);
  std::string text = fmt::format("{}{}.{:02}", hundredths < 0 ? "-" : "", size / 100, size % 100);
  return text.substr(0, text.size() - (places == 0 ? 3 : static_cast<size_t>(2 - places)));
}

const std::vector<std::string_view> kNoNumbers = {"",   "-",   "-0",   "-0.0", "00",  "01",   "-01",
                                                  "1.", ".5",  "+1",   "1e1",  "1E0", "0x10", " 1",
                                                  "1 ", "--1", "1.5.", "1,5",  "-.5"};

TEST(Integers, AreTheOnesWithinBoundsAndNothingElse) {
  std::vector<int> numbers = {-12'345, -1'200, -1'000, -999, -131, 131, 999, 1'000, 1'050, 10'500};
  for (int number = -130; number <= 130; ++number)
    numbers.push_back(number);
  const std::vector<std::string> bounds = {"-120", "-12.5", "-9",  "-1", "-0.5", "0",
                                           "0.5",  "1",     "9.9", "10", "11",   "105"};
  for (size_t i = 0; i <= bounds.size(); ++i) {
    for (size_t j = 0; j <= bounds.size(); ++j) {
      for (const int excluded : {0, 1, 2, 3}) {
        NumberBounds given{.min_excluded = (excluded & 1) != 0,
                           .max_excluded = (excluded & 2) != 0};
        if (i < bounds.size()) given.min = bounds[i];
        if (j < bounds.size()) given.max = bounds[j];
        if (!given.min && !given.max) continue;
        const auto dfa = integer_dfa(given);
        const Within within(given);
        bool any = false;
        for (const int number : numbers) {
          const std::string text = std::to_string(number);
          any = any || within(text);
          if (dfa) {
            ASSERT_EQ((*dfa)->contains(text), within(text)) << text << " in " << in_words(given);
          }
        }
        ASSERT_EQ(dfa.has_value(), any) << in_words(given);
        if (!dfa) continue;
        ASSERT_EQ(useless_states(**dfa), 0u);
        for (const std::string_view text : kNoNumbers)
          ASSERT_FALSE((*dfa)->contains(text)) << text << " in " << in_words(given);
        ASSERT_FALSE((*dfa)->contains("1.0"));
      }
    }
  }
}

TEST(Numbers, AreTheOnesWithinBoundsAndNothingElse) {
  const std::vector<std::string> bounds = {"-10.25", "-9.9", "-1", "-0.05", "0",
                                           "0.1",    "0.25", "1",  "9.95",  "10.5"};
  for (size_t i = 0; i <= bounds.size(); ++i) {
    for (size_t j = 0; j <= bounds.size(); ++j) {
      for (const int excluded : {0, 1, 2, 3}) {
        NumberBounds given{.min_excluded = (excluded & 1) != 0,
                           .max_excluded = (excluded & 2) != 0};
        if (i < bounds.size()) given.min = bounds[i];
        if (j < bounds.size()) given.max = bounds[j];
        if (!given.min && !given.max) continue;
        const auto dfa = number_dfa(given);
        const Within within(given);
        const bool wanted = !given.min || !given.max || i < j || (i == j && excluded == 0);
        ASSERT_EQ(dfa.has_value(), wanted) << in_words(given);
        if (!dfa) continue;
        ASSERT_EQ(useless_states(**dfa), 0u);
        for (int hundredths = -1200; hundredths <= 1200; ++hundredths) {
          for (const int places : {0, 1, 2}) {
            if (hundredths % 100 % (places == 0 ? 100 : places == 1 ? 10 : 1) != 0) continue;
            const std::string text = decimal(hundredths, places);
            if (padded(text).sign == 0 && text.starts_with('-')) continue;
            ASSERT_EQ((*dfa)->contains(text), within(text)) << text << " in " << in_words(given);
          }
        }
        for (const std::string_view text : kNoNumbers)
          ASSERT_FALSE((*dfa)->contains(text)) << text << " in " << in_words(given);
      }
    }
  }
}

// A number that differs from the given one in little.
std::string neighbour(std::string text, Random& random) {
  switch (random.below(5)) {
    case 0:
      break;
    case 1:
      text += text.find('.') == std::string::npos ? ".0" : "0";
      break;
    case 2:
      text += text.find('.') == std::string::npos ? ".001" : "1";
      break;
    case 3:
      if (text.back() != '.' && text.back() != '0') --text.back();
      break;
    default: {
      char& digit = text[random.below(text.size())];
      if (digit >= '1' && digit < '9') ++digit;
      break;
    }
  }
  return text;
}

std::string random_number(Random& random, uint64_t digits, uint64_t fraction) {
  std::string text = random.chance(0.5) ? "-" : "";
  text += static_cast<char>('1' + random.below(9));
  for (uint64_t i = random.below(digits); i > 0; --i)
    text += static_cast<char>('0' + (random.chance(0.5) ? 9 * random.below(2) : random.below(10)));
  const uint64_t places = random.below(fraction + 1);
  if (places > 0) text += '.';
  for (uint64_t i = 0; i < places; ++i)
    text += static_cast<char>('0' + random.below(10));
  return text;
}

// Whether all readers agree on which side of excluded bounds it is.
bool is_short(std::string_view text, const NumberBounds& bounds) {
  const size_t fraction = text.size() - std::min(text.find('.'), text.size());
  size_t integer = 0;
  for (const auto& bound : {bounds.min, bounds.max})
    integer = std::max(integer, bound ? std::min(bound->find('.'), bound->size()) : 0);
  return integer + fraction <= 15;
}

TEST(Numbers, LargeBoundsHoldToTheLastDigit) {
  constexpr uint64_t kSeed = 12;
  Random random(kSeed);
  int inside = 0;
  for (int round = 0; round < windrow::testing::rounds(800, 3000); ++round) {
    NumberBounds bounds{.min_excluded = random.chance(0.3), .max_excluded = random.chance(0.3)};
    const bool integer = random.chance(0.5);
    const uint64_t digits = random.chance(0.5) ? 4 : 40;
    if (random.chance(0.8)) bounds.min = random_number(random, digits, 6);
    if (!bounds.min || random.chance(0.8)) bounds.max = random_number(random, digits, 6);
    if (bounds.min && bounds.max && padded(*bounds.max) < padded(*bounds.min))
      std::swap(bounds.min, bounds.max);
    const auto dfa = integer ? integer_dfa(bounds) : number_dfa(bounds);
    if (!dfa) continue;
    const Within within(bounds);
    const RandomWalks walks(**dfa);
    for (int i = 0; i < 20; ++i) {
      const std::string text = walks.text(random, random.below(60));
      ASSERT_TRUE(within(text)) << "seed " << kSeed << " round " << round << ": " << text << " in "
                                << in_words(bounds);
      boost::json::error_code error;
      boost::json::parse(text, error);
      ASSERT_FALSE(error) << text;
    }
    for (const auto& bound : {bounds.min, bounds.max}) {
      if (!bound) continue;
      for (int i = 0; i < 10; ++i) {
        std::string text = neighbour(*bound, random);
        if (integer) text = text.substr(0, text.find('.'));
        if (padded(text).sign == 0) text = "0";
        const bool wanted = within(text);
        inside += wanted ? 1 : 0;
        const bool accepted = (*dfa)->contains(text);
        if (!integer && !is_short(text, bounds) && (bounds.min_excluded || bounds.max_excluded)) {
          ASSERT_TRUE(wanted || !accepted) << text << " in " << in_words(bounds);
          continue;
        }
        ASSERT_EQ(accepted, wanted)
            << "seed " << kSeed << " round " << round << ": " << text << " in " << in_words(bounds);
      }
    }
  }
  EXPECT_GT(inside, windrow::testing::rounds(120, 1000));
}

TEST(Numbers, RoundedToDoublesTheyAreWithinExcludedBoundsToo) {
  constexpr uint64_t kSeed = 13;
  Random random(kSeed);
  for (int round = 0; round < windrow::testing::rounds(150, 500); ++round) {
    const std::string bound = random_number(random, 4, 4);
    const double limit = std::stod(bound);
    const auto below = number_dfa({.max = bound, .max_excluded = true});
    const auto above = number_dfa({.min = bound, .min_excluded = true});
    ASSERT_TRUE(below && above);
    const RandomWalks walks_below(**below);
    const RandomWalks walks_above(**above);
    for (int i = 0; i < 50; ++i) {
      std::string text = walks_below.text(random, random.below(60));
      ASSERT_LT(std::stod(text), limit) << text;
      text = walks_above.text(random, random.below(60));
      ASSERT_GT(std::stod(text), limit) << text;
    }
    // As close as it gets: the bound itself with a one behind it, as far behind as is allowed.
    for (size_t zeros = 0; zeros < 40; ++zeros) {
      const std::string text =
          bound + (bound.find('.') == std::string::npos ? "." : "") + std::string(zeros, '0') + "1";
      const auto& dfa = bound.starts_with('-') ? below : above;
      if ((*dfa)->contains(text)) {
        ASSERT_NE(std::stod(text), limit) << text;
      }
    }
  }
}

TEST(Numbers, MultiplesAreTheOnesDivisionFinds) {
  constexpr uint64_t kSeed = 14;
  Random random(kSeed);
  for (int round = 0; round < 150; ++round) {
    const auto step = static_cast<int64_t>(1 + random.below(random.chance(0.7) ? 30 : 1300));
    const int64_t low = random.between(-3000, 1000);
    const int64_t high = low + random.between(0, 3000);
    const NumberBounds bounds{.min = std::to_string(low),
                              .max = std::to_string(high),
                              .multiple_of = std::to_string(step)};
    for (const bool integer : {true, false}) {
      const auto dfa = integer ? integer_dfa(bounds) : number_dfa(bounds);
      bool any = false;
      for (int64_t number = low - 20; number <= high + 20; ++number) {
        const bool wanted = number % step == 0 && number >= low && number <= high;
        any = any || wanted;
        if (dfa) {
          ASSERT_EQ((*dfa)->contains(std::to_string(number)), wanted)
              << "seed " << kSeed << " round " << round << ": " << number << " of " << step;
        }
      }
      ASSERT_EQ(dfa.has_value(), any) << step << " from " << low << " to " << high;
    }
  }
}

TEST(Numbers, MultiplesOfFractions) {
  for (const auto& [step, hundredths] : std::vector<std::pair<std::string, int>>{{"0.01", 1},
                                                                                 {"0.1", 10},
                                                                                 {"0.5", 50},
                                                                                 {"0.25", 25},
                                                                                 {"2.5", 250},
                                                                                 {"1e-1", 10},
                                                                                 {"5e-1", 50},
                                                                                 {"3", 300}}) {
    const auto numbers = number_dfa({.multiple_of = step});
    const auto integers = integer_dfa({.multiple_of = step});
    ASSERT_TRUE(numbers && integers) << step;
    for (int number = -1000; number <= 1000; ++number) {
      const std::string text = decimal(number, number % 10 != 0 ? 2 : number % 100 != 0 ? 1 : 0);
      ASSERT_EQ((*numbers)->contains(text), number % hundredths == 0) << text << " of " << step;
      if (number % 100 == 0) {
        ASSERT_EQ((*integers)->contains(text), number % hundredths == 0) << text << " of " << step;
      }
    }
    EXPECT_FALSE((*numbers)->contains("0.001"));
    EXPECT_FALSE((*numbers)->contains("-0"));
  }
}

// Every spelling of a number with up to three zeros behind, in hundredths.
TEST(Numbers, ThatAreNoMultiplesOrDeniedHaveNoSpelling) {
  constexpr uint64_t kSeed = 16;
  Random random(kSeed);
  for (int round = 0; round < 60; ++round) {
    const std::vector<int> steps = {1, 5, 10, 25, 50, 100, 200, 300, 700, 2000};  // hundredths
    std::vector<int> excluded;
    std::vector<int> denied;
    NumberBounds bounds;
    for (uint64_t i = random.below(3); i > 0; --i) {
      excluded.push_back(steps[random.below(steps.size())]);
      bounds.multiples_not.push_back(decimal(excluded.back(), 2));
    }
    for (uint64_t i = random.below(4); i > 0; --i) {
      denied.push_back(static_cast<int>(random.between(-30, 30)) * (random.chance(0.5) ? 1 : 100));
      bounds.denied.push_back(decimal(denied.back(), 2));
    }
    int step = 0;
    if (random.chance(0.3)) {
      step = steps[random.below(steps.size())];
      bounds.multiple_of = decimal(step, 2);
    }
    if (random.chance(0.5)) bounds.min = decimal(static_cast<int>(random.between(-900, 0)), 2);
    if (random.chance(0.5)) bounds.max = decimal(static_cast<int>(random.between(1, 900)), 2);
    if (excluded.empty() && denied.empty()) continue;
    SCOPED_TRACE(fmt::format("seed {} round {}: {}", kSeed, round, in_words(bounds)));
    const Within within(bounds);
    for (const bool integer : {true, false}) {
      const auto dfa = integer ? integer_dfa(bounds) : number_dfa(bounds);
      bool any = false;
      for (int number = -1000; number <= 1000; ++number) {
        const bool holds =
            within(decimal(number, 2)) && (step == 0 || number % step == 0) &&
            std::ranges::find(denied, number) == denied.end() &&
            std::ranges::none_of(excluded, [&](int other) { return number % other == 0; });
        any = any || (holds && (!integer || number % 100 == 0));
        if (!dfa) continue;
        for (int places = 0; places <= 2; ++places) {
          if (number % (places == 0 ? 100 : places == 1 ? 10 : 1) != 0) continue;
          const std::string text = decimal(number, places);
          if (text.starts_with("-0") && number == 0) continue;
          if (integer && places > 0) continue;
          // A multiple has no more digits than its step.
          if (step != 0 && places > (step % 100 == 0 ? 0 : step % 10 == 0 ? 1 : 2)) continue;
          ASSERT_EQ((*dfa)->contains(text), holds) << text;
          if (!integer && places == 2 && step == 0)
            ASSERT_EQ((*dfa)->contains(text + "000"), holds) << text;
        }
      }
      if (any) ASSERT_TRUE(dfa) << dfa.error().message;
    }
  }
}

TEST(Numbers, ThatAreExcludedAreFarEnoughForDoubles) {
  const auto odd = number_dfa({.multiples_not = {"2"}}).value();
  EXPECT_TRUE(odd->contains("3"));
  EXPECT_TRUE(odd->contains("0.12345678901234"));
  EXPECT_TRUE(odd->contains("123456789012345"));
  EXPECT_FALSE(odd->contains("2.000"));
  EXPECT_FALSE(odd->contains("9007199254740993"));       // a double has no such number
  EXPECT_FALSE(odd->contains("2.0000000000000000001"));  // 2 as a double
  const auto not_half = number_dfa({.denied = {"0.5"}}).value();
  EXPECT_TRUE(not_half->contains("0.51"));
  EXPECT_FALSE(not_half->contains("0.5"));
  EXPECT_FALSE(not_half->contains("0.50"));
  EXPECT_FALSE(not_half->contains("0.50000000000000000001"));
  EXPECT_FALSE(not_half->contains("5e-1"));
  EXPECT_FALSE(number_dfa({.denied = {"0"}}).value()->contains("-0.0"));
  EXPECT_FALSE(integer_dfa({.min = "1", .max = "2", .denied = {"1.0", "2"}}));
  // Steps of tens.
  const auto not_thousands = number_dfa({.multiples_not = {"12000"}}).value();
  EXPECT_TRUE(not_thousands->contains("12001"));
  EXPECT_TRUE(not_thousands->contains("12000.5"));
  EXPECT_FALSE(not_thousands->contains("24000"));
  EXPECT_FALSE(not_thousands->contains("24000.0"));
  EXPECT_FALSE(not_thousands->contains("0.00"));
}

// Each list is one automaton that is subtracted once.
TEST(Numbers, ThatAreDeniedMayBeThousands) {
  NumberBounds bounds;
  for (int i = 0; i < 5'000; ++i)
    bounds.denied.push_back(decimal(i * 79, 2));
  bounds.denied.insert(bounds.denied.end(), {"1e100", "1e-100", "-1e999999"});
  int questions = 0;
  const auto dfa = number_dfa(bounds, [&] { return ++questions < 0; }).value();
  EXPECT_LT(questions, 1'000);
  for (int number = 1; number < 5'000; ++number) {
    const bool holds = number % 79 != 0;
    ASSERT_EQ(dfa->contains(decimal(number, 2)), holds) << number;
    ASSERT_EQ(dfa->contains(decimal(number, 2) + "000"), holds) << number;
    ASSERT_TRUE(dfa->contains("-" + decimal(number, 2))) << number;
  }
  const auto too_many = [] {
    NumberBounds many;
    Random random(17);
    for (int i = 0; i < 50'000; ++i)
      many.denied.push_back(std::to_string(random.below(1'000'000'000'000)));
    return integer_dfa(many);
  }();
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind, ErrorKind::kInvalid);
}

// Where digits are counted beside the automaton, it has the remainders alone.
TEST(Numbers, MultiplesOfManyRemaindersAreWithoutASign) {
  struct Case {
    int step;  // 0: any integer
    std::vector<int> excluded;
  };
  constexpr uint64_t kSeed = 19;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  for (const auto& [step, excluded] :
       {Case{4004, {8}}, Case{429, {2, 7}}, Case{1716, {8, 10}}, Case{9973, {}}, Case{777, {5}},
        Case{0, {7, 11, 13}}, Case{0, {1000, 343}}}) {
    NumberBounds bounds;
    if (step > 0) bounds.multiple_of = std::to_string(step);
    for (const int other : excluded)
      bounds.multiples_not.push_back(std::to_string(other));
    SCOPED_TRACE(fmt::format("{} without {}", step, fmt::join(excluded, ", ")));
    for (const bool integer : {true, false}) {
      const auto made = long_multiples(bounds, integer).value();
      ASSERT_EQ(made.has_value(), integer || step > 0);
      if (!made) continue;
      EXPECT_LT(made->positive->states_count(), 20'000U);
      EXPECT_EQ(made->digits_max, 15U);
      for (int i = 0; i < 3'000; ++i) {
        int64_t number = random.between(0, i < 1'000 ? 5'000 : 999'999'999'999'999);
        if (step > 0 && random.chance(0.8)) number -= number % step;
        const bool holds =
            (step == 0 || number % step == 0) &&
            std::ranges::none_of(excluded, [&](int other) { return number % other == 0; });
        const std::string text = std::to_string(number);
        ASSERT_EQ(made->positive->contains(text), holds) << text;
        ASSERT_EQ(made->negative->contains(text), holds && number > 0) << text;
        ASSERT_FALSE(made->positive->contains("0" + text)) << text;
      }
      for (const char* text : {"", "-", "-0", "00", "4004.0", "1e3"})
        ASSERT_FALSE(made->positive->contains(text)) << text;
    }
  }
  // From zero up, and above zero; few remainders and other bounds are for the other functions.
  const auto from_zero = long_multiples({.min = "0", .multiple_of = "9973"}, true).value();
  ASSERT_TRUE(from_zero);
  EXPECT_TRUE(from_zero->positive->contains("0"));
  EXPECT_FALSE(from_zero->negative);
  const auto above =
      long_multiples({.min = "0", .min_excluded = true, .multiple_of = "9973"}, true).value();
  EXPECT_FALSE(above->positive->contains("0"));
  EXPECT_FALSE(long_multiples({.multiple_of = "12"}, true).value());
  EXPECT_FALSE(long_multiples({.max = "5", .multiple_of = "9973"}, true).value());
  EXPECT_FALSE(long_multiples({.multiple_of = "9973", .denied = {"9973"}}, true).value());
  EXPECT_FALSE(long_multiples({.multiple_of = "99.73"}, false).value());
  EXPECT_FALSE(long_multiples({}, true).value());
}

TEST(Numbers, ManyMultiplesAskWhetherToGoOn) {
  const NumberBounds bounds{.multiples_not = {"7", "11", "13", "17", "19", "23"}};
  int questions = 0;
  const auto refused = integer_dfa(bounds, [&] { return ++questions < 0; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_GE(questions, 10);
  const auto stopped = integer_dfa(bounds, [] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kUnavailable);
}

TEST(Numbers, WithoutBoundsAnySpellingButNoEndlessOne) {
  const auto dfa = number_dfa({}).value();
  EXPECT_EQ(useless_states(*dfa), 0u);
  for (const std::string_view text :
       {"0", "-0", "-0.0", "12.50", "1e5", "1E+05", "-1.5e-300", "9e307", "1e308", "1.6e308",
        "123456789012345678901234567890e268", "1e-9999", "0e0", "1e0005"})
    EXPECT_TRUE(dfa->contains(text)) << text;
  for (const std::string_view text :
       {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1e309", "2e308", "12e308", "1e9999",
        "123456789012345678901234567890e269", "1e00005", "NaN", "Infinity", "0x1"})
    EXPECT_FALSE(dfa->contains(text)) << text;
  EXPECT_TRUE(dfa->contains(std::string(40, '9')));
  EXPECT_FALSE(dfa->contains(std::string(41, '9')));
  EXPECT_TRUE(dfa->contains("0." + std::string(40, '9')));
  EXPECT_FALSE(dfa->contains("0." + std::string(41, '9')));

  constexpr uint64_t kSeed = 15;
  Random random(kSeed);
  const RandomWalks walks(*dfa);
  for (int round = 0; round < windrow::testing::rounds(800, 3000); ++round) {
    const std::string text = walks.text(random, random.below(100));
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(text, error);
    ASSERT_FALSE(error) << "seed " << kSeed << " round " << round << ": " << text;
    ASSERT_TRUE(std::isfinite(value.to_number<double>())) << text;
  }
}

TEST(Integers, WithoutBoundsHaveNoPointAndAnEnd) {
  const auto dfa = integer_dfa({}).value();
  EXPECT_EQ(useless_states(*dfa), 0u);
  EXPECT_EQ(dfa, integer_dfa({}).value());
  for (const std::string_view text : {"0", "-1", "10", "9007199254740993"})
    EXPECT_TRUE(dfa->contains(text)) << text;
  for (const std::string_view text : {"", "-", "-0", "01", "1.0", "1e3"})
    EXPECT_FALSE(dfa->contains(text)) << text;
  EXPECT_TRUE(dfa->contains("-" + std::string(40, '9')));
  EXPECT_FALSE(dfa->contains(std::string(41, '9')));
  EXPECT_FALSE(integer_dfa({.min = "1"}).value()->contains(std::string(41, '9')));
  EXPECT_TRUE(integer_dfa({.max = "1e999999999"}).value()->contains(std::string(40, '9')));
}

TEST(Integers, MultiplesWithManyZeros) {
  const uint64_t seed = 20'261'122;
  SCOPED_TRACE(seed);
  Random random(seed);
  for (const int64_t step : {10LL, 20LL, 100LL, 250LL, 1000LL, 7000LL, 10'000LL, 300'000LL,
                             1'000'000LL, 1'000'000'000LL, 12'000'000LL, 100'000'000'000'000LL}) {
    for (const bool integer : {true, false}) {
      const NumberBounds bounds{.multiple_of = std::to_string(step)};
      const auto made = integer ? integer_dfa(bounds) : number_dfa(bounds);
      ASSERT_TRUE(made) << step << ": " << made.error().message;
      for (int i = 0; i < 300; ++i) {
        const int64_t factor = random.between(-20, 19);
        const int64_t off = i % 3 == 0 ? 0 : random.between(-1000, 1000);
        const int64_t number = i % 5 == 4 ? off : factor * step + off;
        const std::string text = std::to_string(number);
        if (text.size() > 15) continue;
        EXPECT_EQ((*made)->contains(text), number % step == 0) << text << " by " << step;
      }
    }
  }
  EXPECT_FALSE(integer_dfa({.multiple_of = "1e15"}));
  EXPECT_TRUE(integer_dfa({.min = "2500000", .max = "3500000", .multiple_of = "1e6"})
                  .value()
                  ->contains("3000000"));
}

TEST(Numbers, SaysWhatIsWrongWithBounds) {
  const auto message = [](const Result<std::shared_ptr<const ByteDfa>>& dfa) {
    return dfa ? std::string("none") : dfa.error().message;
  };
  EXPECT_EQ(message(integer_dfa({.min = "5", .max = "3"})),
            "there is no integer that is at least 5 and at most 3 and has at most 40 digits; "
            "correct the bounds");
  EXPECT_EQ(message(integer_dfa({.min = "0.2", .max = "0.8", .max_excluded = true})),
            "there is no integer that is at least 0.2 and below 0.8 and has at most 40 digits; "
            "correct the bounds");
  EXPECT_EQ(
      message(number_dfa({.min = "1e40"})),
      "there is no number that is at least 1e40 and has at most 40 digits; correct the bounds");
  EXPECT_EQ(message(integer_dfa({.min = "1", .max = "6", .multiple_of = "7"})),
            "there is no integer that is at least 1 and at most 6 and a multiple of 7 and has at "
            "most 40 digits; correct the bounds");
  EXPECT_EQ(message(integer_dfa({.min = "one"})),
            "the bound one is no number; write it as JSON does");
  EXPECT_EQ(message(integer_dfa({.multiple_of = "0"})),
            "multipleOf 0: it must be a number above zero");
  EXPECT_EQ(
      message(integer_dfa({.multiple_of = "10007"})),
      "multipleOf 10007 cannot be enforced: without the zeros at either end its digits may "
      "be a number up to 10000 (less, the more places or zeros it has), and at most 15 digits "
      "before the point, as in 12, 0.5, 0.01 or 1000000; make it simpler, or leave it out");
  EXPECT_EQ(
      message(number_dfa({.multiple_of = "1e-99"})),
      "multipleOf 1e-99 cannot be enforced: without the zeros at either end its digits may "
      "be a number up to 10000 (less, the more places or zeros it has), and at most 15 digits "
      "before the point, as in 12, 0.5, 0.01 or 1000000; make it simpler, or leave it out");
}

}  // namespace
}  // namespace windrow::grammar
