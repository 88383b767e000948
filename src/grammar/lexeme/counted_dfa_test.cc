#include "grammar/lexeme/counted_dfa.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "base/utf8.h"
#include "grammar/lexeme/regex.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

using Counted = std::shared_ptr<const CountedDfa>;

// --- lengths

// Bit i: a text of i more characters leads from the state to an end. Up to `max`.
std::vector<uint64_t> lengths_by_force(const CharDfa& dfa, uint32_t max) {
  std::vector<uint64_t> lengths(dfa.states_count());
  for (uint32_t length = 0; length <= max; ++length) {
    for (CharDfa::State state = 0; state < dfa.states_count(); ++state) {
      bool ends = length == 0 && dfa.accepts(state);
      for (const CharDfa::Edge& edge : dfa.edges(state))
        ends = ends || (length > 0 && (lengths[edge.to] >> (length - 1) & 1) != 0);
      if (ends) lengths[state] |= uint64_t{1} << length;
    }
  }
  return lengths;
}

TEST(TextLengths, AreThoseOfAllTexts) {
  constexpr uint64_t kSeed = 3;
  constexpr uint32_t kMax = 40;  // more than twice the states
  Random random(kSeed);
  size_t gaps = 0;
  for (int round = 0; round < 3000; ++round) {
    const CharDfa dfa(random_range_dfa(random, 1 + random.below(9), 3));
    if (dfa.empty()) continue;
    SCOPED_TRACE(round);
    const auto expected = lengths_by_force(dfa, kMax);
    const auto lengths = TextLengths::find(dfa, {.min = 1, .max = kMax});
    ASSERT_TRUE(lengths.has_value());
    for (CharDfa::State state = 0; state < dfa.states_count(); ++state) {
      ASSERT_EQ(lengths->shortest(state), std::countr_zero(expected[state]));
      const bool endless = expected[state] >> (kMax / 2) != 0;
      const auto longest = static_cast<uint32_t>(63 - std::countl_zero(expected[state]));
      ASSERT_EQ(lengths->longest(state), endless ? TextLengths::kEndless : longest);
      for (uint32_t min = 0; min <= kMax; ++min) {
        // Where no text is too long, only the minimum is asked for.
        const uint32_t max_min = lengths->longest(0) <= kMax ? longest : 0;
        for (uint32_t max = std::max(min, max_min); max <= kMax; ++max) {
          const uint64_t wanted = (~uint64_t{0} >> (63 - max)) & (~uint64_t{0} << min);
          ASSERT_EQ(lengths->any(state, min, max), (expected[state] & wanted) != 0)
              << min << " to " << max;
        }
      }
      gaps += lengths->ahead(state).gaps ? 1 : 0;
    }
  }
  EXPECT_GT(gaps, 1000U);
}

TEST(TextLengths, ThatAreTooManyToTellAreRefused) {
  const CharDfa dfa = regex_dfa("^([0-9a-f]{2})+$", RegexMeaning::kSearch).value();
  EXPECT_TRUE(TextLengths::find(dfa, {.min = 3, .max = 100'000}).has_value());
  const auto refused = TextLengths::find(dfa, {.min = 3, .max = 2'000'000'000});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("some lengths only"), std::string::npos);
  // Without both bounds there is nothing to tell.
  EXPECT_TRUE(TextLengths::find(dfa, {.max = 2'000'000'000}).has_value());
  EXPECT_TRUE(TextLengths::find(dfa, {.min = 2'000'000'000}).has_value());
}

// --- the same texts as the product

// States of both that the same bytes lead to, all of them: both are deterministic and lead to no
// dead end, so the texts are the same exactly if they go on and end together.
void expect_same_texts(const CountedDfa& counted, const ByteDfa& product) {
  std::set<std::pair<CountedDfa::State, ByteDfa::State>> seen{{CountedDfa::kFirst, 0}};
  std::vector<std::pair<CountedDfa::State, ByteDfa::State>> todo(seen.begin(), seen.end());
  while (!todo.empty()) {
    const auto [a, b] = todo.back();
    todo.pop_back();
    ASSERT_EQ(counted.accepts(a), product.accepting[b]);
    bool goes_on = false;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const CountedDfa::State to_a = counted.next(a, static_cast<uint8_t>(byte));
      const ByteDfa::State to_b = product.next(b, static_cast<uint8_t>(byte));
      ASSERT_EQ(to_a == CountedDfa::kDead, to_b == ByteDfa::kDead) << "byte " << byte;
      if (to_b == ByteDfa::kDead) continue;
      goes_on = true;
      if (seen.emplace(to_a, to_b).second) todo.emplace_back(to_a, to_b);
    }
    ASSERT_EQ(counted.goes_on(a), goes_on);
  }
}

CharCount random_count(Random& random) {
  CharCount count;
  if (random.chance(0.7)) count.min = static_cast<uint32_t>(random.below(9));
  if (count.min == 0 || random.chance(0.7))
    count.max = count.min + static_cast<uint32_t>(random.below(random.chance(0.5) ? 3 : 12));
  return count;
}

TEST(CountedDfa, HasTheTextsOfTheProduct) {
  constexpr uint64_t kSeed = 8;
  Random random(kSeed);
  size_t empty = 0;
  size_t compared = 0;
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const CharDfa dfa(random_range_dfa(random, 1 + random.below(7), 2 + random.below(9)));
    if (dfa.empty() || dfa == CharDfa::any_text()) continue;
    const CharCount count = random_count(random);
    const bool ends = count.max != CharCount::kEndless;
    const CharDfa length =
        CharDfa::length(count.min, ends ? std::optional(count.max) : std::nullopt).value();
    const CharDfa product = dfa.intersect(length).value();
    const bool json = random.chance(0.5);
    const Counted counted =
        CountedDfa::make(json ? json_string_dfa(dfa) : utf8_dfa(dfa), dfa.states_count(), count)
            .value();
    ASSERT_EQ(counted->empty(), product.empty());
    ASSERT_EQ(TextLengths::find(dfa, count)->any(0, count.min, count.max), !product.empty());
    empty += product.empty() ? 1 : 0;
    if (product.empty()) continue;
    ++compared;
    expect_same_texts(*counted, json ? *json_string_dfa(product) : *utf8_dfa(product));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(empty, 100U);
  EXPECT_GT(compared, 500U);
}

TEST(CountedDfa, CountsCharactersHoweverTheyAreWritten) {
  const Counted two =
      CountedDfa::make(json_string_dfa(CharDfa::any_text()), 1, {.min = 2, .max = 2}).value();
  const auto holds = [&two](std::string_view text) {
    CountedDfa::State state = CountedDfa::kFirst;
    for (const char byte : text) {
      state = two->next(state, static_cast<uint8_t>(byte));
      if (state == CountedDfa::kDead) return false;
    }
    return two->accepts(state);
  };
  for (const char* character : {"a", R"(\n)", R"(\")", R"(\/)", R"(\u0041)", R"(\uD83D\uDE00)",
                                "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    const std::string one(character);
    EXPECT_FALSE(holds(one)) << one;
    EXPECT_TRUE(holds(one + "b")) << one;
    EXPECT_TRUE(holds("b" + one)) << one;
    EXPECT_FALSE(holds(one + one + one)) << one;
  }
}

// --- what is told of counted states

// Calls `visit` with all texts of up to `bytes` bytes that lead somewhere, one for each class of
// bytes, and the states that they lead to from all of `states`.
template <class States, class Step, class Visit>
void for_texts(const CountedDfa& counted, States states, size_t bytes, const Step& step,
               const Visit& visit) {
  if (!visit(states) || bytes == 0) return;
  std::vector<bool> seen(256);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint8_t byte_class = counted.dfa()->class_of[byte];
    if (seen[byte_class]) continue;
    seen[byte_class] = true;
    for_texts(counted, step(states, static_cast<uint8_t>(byte)), bytes - 1, step, visit);
  }
}

void expect_true_of(const CountedDfa& counted, CountedDfa::State state, uint32_t reach) {
  const ByteDfa& dfa = *counted.dfa();
  const CountedDfa::State clipped = counted.clipped(state, reach);
  ASSERT_EQ(counted.place(clipped), counted.place(state));
  ASSERT_EQ(counted.clipped(clipped, reach), clipped);
  const bool is_free = counted.is_free(state, reach);
  const bool ends_alike = counted.ends_alike(state, reach);
  struct Both {
    CountedDfa::State as_is;
    CountedDfa::State clipped;
    ByteDfa::State uncounted;
  };
  const auto step = [&](const Both& from, uint8_t byte) {
    return Both{counted.next(from.as_is, byte), counted.next(from.clipped, byte),
                dfa.next(from.uncounted, byte)};
  };
  for_texts(counted, Both{state, clipped, counted.place(state)}, reach - 1, step,
            [&](const Both& at) {
              const bool dead = at.as_is == CountedDfa::kDead;
              EXPECT_EQ(dead, at.clipped == CountedDfa::kDead);
              if (is_free) EXPECT_EQ(dead, at.uncounted == ByteDfa::kDead);
              if (dead || at.clipped == CountedDfa::kDead) return false;
              EXPECT_EQ(counted.accepts(at.as_is), counted.accepts(at.clipped));
              EXPECT_EQ(counted.goes_on(at.as_is), counted.goes_on(at.clipped));
              if (ends_alike && counted.place(at.as_is) == counted.place(state))
                EXPECT_EQ(counted.accepts(at.as_is), counted.accepts(state));
              return !::testing::Test::HasFailure();
            });
}

// The letters are ASCII: a byte is a character.
void expect_free_chars(const CountedDfa& counted, CountedDfa::State state) {
  const uint32_t free = std::min(counted.free_chars(state, false), 4U);
  const auto step = [&](const std::pair<CountedDfa::State, ByteDfa::State>& from, uint8_t byte) {
    return std::pair(counted.next(from.first, byte), counted.dfa()->next(from.second, byte));
  };
  for_texts(counted, std::pair(state, counted.place(state)), free, step, [](const auto& at) {
    EXPECT_EQ(at.first == CountedDfa::kDead, at.second == ByteDfa::kDead);
    return at.second != ByteDfa::kDead && !::testing::Test::HasFailure();
  });
}

TEST(CountedDfa, WhatIsToldOfAStateIsTrue) {
  constexpr uint64_t kSeed = 5;
  Random random(kSeed);
  size_t clipped = 0;
  size_t free = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const CharDfa dfa(random_range_dfa(random, 1 + random.below(5), 1));
    if (dfa.empty()) continue;
    CharCount count = random_count(random);
    if (random.chance(0.5)) count.min += static_cast<uint32_t>(random.below(20));
    if (count.max != CharCount::kEndless)
      count.max = count.min + static_cast<uint32_t>(random.below(20));
    const Counted counted = CountedDfa::make(utf8_dfa(dfa), dfa.states_count(), count).value();
    if (counted->empty()) continue;
    const auto reach = static_cast<uint32_t>(1 + random.below(6));
    std::set<CountedDfa::State> seen{CountedDfa::kFirst};
    std::vector<CountedDfa::State> todo{CountedDfa::kFirst};
    while (!todo.empty()) {
      const CountedDfa::State state = todo.back();
      todo.pop_back();
      expect_true_of(*counted, state, reach);
      expect_free_chars(*counted, state);
      if (HasFailure()) return;
      clipped += counted->clipped(state, reach) != state ? 1 : 0;
      free += counted->is_free(state, reach) ? 1 : 0;
      for (unsigned byte = 0; byte < 256; ++byte) {
        const CountedDfa::State to = counted->next(state, static_cast<uint8_t>(byte));
        if (to != CountedDfa::kDead && seen.insert(to).second) todo.push_back(to);
      }
    }
  }
  EXPECT_GT(clipped, 1000U);
  EXPECT_GT(free, 1000U);
}

// --- large bounds

std::string words(size_t count, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : " ") + std::string(bytes, 'w');
  return text;
}

struct Large {
  const char* pattern;
  uint32_t max;
  std::string longest;
};

TEST(CountedDfa, LargeLengthsBesideLargePatterns) {
  for (const Large& large : {Large{R"(^(?:\S+\s+){0,49}\S+$)", 500, words(10, 49) + 'w'},
                             Large{R"(^(?:\S+\s+){0,99}\S+$)", 5'000, words(100, 49) + 'w'},
                             Large{R"(^.{0,3000}x?$)", 2'000'000'000, std::string(3'000, 'a')}}) {
    const CharDfa dfa = regex_dfa(large.pattern, RegexMeaning::kSearch).value();
    const auto counted =
        CountedDfa::make(json_string_dfa(dfa), dfa.states_count(), {.min = 20, .max = large.max})
            .value();
    EXPECT_LT(counted->memory_bytes(), 4U << 20);
    CountedDfa::State state = CountedDfa::kFirst;
    for (size_t i = 0; i < large.longest.size(); ++i) {
      ASSERT_EQ(counted->accepts(state), i >= 20 && large.longest[i - 1] != ' ') << i;
      state = counted->next(state, static_cast<uint8_t>(large.longest[i]));
      ASSERT_NE(state, CountedDfa::kDead) << i;
    }
    EXPECT_TRUE(counted->accepts(state));
    EXPECT_EQ(counted->next(state, 'w'), CountedDfa::kDead);
  }
}

TEST(CountedDfa, LengthsThatCannotBeNumberedEndEarlierOrAreRefused) {
  const CharDfa small = regex_dfa("^[a-c]*$", RegexMeaning::kSearch).value();
  EXPECT_TRUE(
      CountedDfa::make(utf8_dfa(small), small.states_count(), {.max = 4'000'000'000}).has_value());
  const CharDfa large = regex_dfa("^(.{0,9000}x)?$", RegexMeaning::kSearch).value();
  const auto refused = CountedDfa::make(utf8_dfa(large), large.states_count(), {.min = 1'000'000});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("lengths can be enforced up to"), std::string::npos);
}

}  // namespace
}  // namespace windrow::grammar
