#include "grammar/lexeme/char_dfa.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

// How many states the smallest automaton of the same texts has: by refining until nothing changes,
// on the letters alone.
size_t smallest_count(const RangeDfa& dfa, size_t letters) {
  const size_t dead = dfa.states_count();
  std::vector<size_t> block_of(dead + 1, 0);
  for (size_t state = 0; state < dead; ++state)
    block_of[state] = dfa.accepting[state] ? 1 : 0;
  size_t blocks = 0;
  while (true) {
    std::map<std::vector<size_t>, size_t> numbers;
    std::vector<size_t> next_block(dead + 1);
    for (size_t state = 0; state <= dead; ++state) {
      std::vector<size_t> key{block_of[state]};
      for (size_t letter = 0; letter < letters; ++letter) {
        const auto from = static_cast<RangeDfa::State>(state);
        const auto to = state == dead ? RangeDfa::kDead : dfa.next(from, kLetters[letter]);
        key.push_back(block_of[to == RangeDfa::kDead ? dead : to]);
      }
      next_block[state] = numbers.emplace(key, numbers.size()).first->second;
    }
    block_of = next_block;
    if (numbers.size() == blocks) break;
    blocks = numbers.size();
  }
  // The blocks that are reached; that of the dead state has no text.
  std::set<size_t> met{block_of[0]};
  std::vector<RangeDfa::State> open{0};
  std::vector<bool> seen(dead);
  while (!open.empty()) {
    const auto state = open.back();
    open.pop_back();
    for (size_t letter = 0; letter < letters; ++letter) {
      const auto to = dfa.next(state, kLetters[letter]);
      if (to == RangeDfa::kDead || seen[to]) continue;
      seen[to] = true;
      met.insert(block_of[to]);
      open.push_back(to);
    }
  }
  met.erase(block_of[dead]);
  return met.size();
}

// Every range of random automata begins and ends at letters, but what lies between is in it too.
CharDfa only_letters(const RangeDfa& dfa, size_t letters) {
  CharSet set;
  for (size_t i = 0; i < letters; ++i)
    set = set | CharSet::one(kLetters[i]);
  RangeDfa any;
  any.begin_state(true);
  for (const CharRange& range : set.ranges())
    any.add_edge(range, 0);
  return CharDfa(combine(dfa, any, Combination::kBoth, 1000).value());
}

TEST(CharDfa, IsTheSmallestOfItsTexts) {
  constexpr uint64_t kSeed = 4;
  constexpr size_t kCount = 3;
  Random random(kSeed);
  const auto texts = all_texts(kCount, 6);
  size_t states = 0;
  for (int round = 0; round < 600; ++round) {
    const RangeDfa dfa = random_range_dfa(random, 1 + random.below(12), kCount);
    const CharDfa small = only_letters(dfa, kCount);
    for (const std::u32string& text : texts)
      ASSERT_EQ(runs(small.ranges(), text), runs(dfa, text)) << "seed " << kSeed << " " << round;
    ASSERT_EQ(small.states_count(), smallest_count(dfa, kCount))
        << "seed " << kSeed << " " << round;
    ASSERT_EQ(CharDfa(small.ranges()), small);
    states += small.states_count();
  }
  EXPECT_GT(states, 1000u);
}

TEST(CharDfa, CombinationsHoldTextByText) {
  constexpr uint64_t kSeed = 5;
  constexpr size_t kCount = 4;
  Random random(kSeed);
  const auto texts = all_texts(kCount, 5);
  for (int round = 0; round < 200; ++round) {
    const CharDfa a(random_range_dfa(random, 1 + random.below(8), kCount));
    const CharDfa b(random_range_dfa(random, 1 + random.below(8), kCount));
    const CharDfa both = a.intersect(b).value();
    const CharDfa either = a.unite(b).value();
    const CharDfa rest = a.without(b).value();
    for (const std::u32string& text : texts) {
      const bool in_a = runs(a.ranges(), text);
      const bool in_b = runs(b.ranges(), text);
      ASSERT_EQ(runs(both.ranges(), text), in_a && in_b) << "seed " << kSeed << " " << round;
      ASSERT_EQ(runs(either.ranges(), text), in_a || in_b) << "seed " << kSeed << " " << round;
      ASSERT_EQ(runs(rest.ranges(), text), in_a && !in_b) << "seed " << kSeed << " " << round;
    }
    // The laws of sets, on all texts: equal languages are equal automata.
    const CharDfa any = CharDfa::any_text();
    ASSERT_EQ(rest, a.intersect(any.without(b).value()).value());
    ASSERT_EQ(both.unite(rest).value(), a);
    ASSERT_EQ(any.without(either).value(),
              any.without(a).value().intersect(any.without(b).value()).value());
    ASSERT_TRUE(rest.intersect(b).value().empty());
  }
}

TEST(CharDfa, LiteralsAreExactlyThese) {
  const std::vector<std::string_view> names = {"name",  "names",       "nam",  "",
                                               "größe", "\U0001F600x", "name", "\xff not utf-8"};
  const CharDfa dfa = CharDfa::literals(names);
  for (const std::string_view name : {"name", "names", "nam", "", "größe", "\U0001F600x"})
    EXPECT_TRUE(dfa.contains(name)) << name;
  for (const std::string_view name : {"na", "namesx", "groesse", "\U0001F600", "\xff not utf-8"})
    EXPECT_FALSE(dfa.contains(name)) << name;
  EXPECT_TRUE(CharDfa::literals({}).empty());

  const CharDfa others = CharDfa::any_text().without(dfa).value();
  EXPECT_FALSE(others.contains("name"));
  EXPECT_TRUE(others.contains("nameless"));
  EXPECT_TRUE(others.contains("n"));
  EXPECT_FALSE(others.contains(""));
}

TEST(CharDfa, ListsAreTheSmallestAutomatonAtOnce) {
  constexpr uint64_t kSeed = 6;
  Random random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    CharDfa one_by_one;
    for (uint64_t i = random.below(30); i > 0; --i) {
      std::string text;
      for (uint64_t length = random.below(6); length > 0; --length)
        append_utf8(kLetters[random.below(3)], text);
      one_by_one = one_by_one.unite(CharDfa::literals(std::array{std::string_view(text)})).value();
      texts.push_back(std::move(text));
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const CharDfa made = CharDfa::literals(views);
    ASSERT_EQ(made, one_by_one) << "seed " << kSeed << " " << round;
    ASSERT_EQ(CharDfa(made.ranges()), made) << "seed " << kSeed << " " << round;
    const size_t states = made.states_count();
    ASSERT_TRUE(CharDfa::literals(views, states, {}));
    if (states > 1) ASSERT_FALSE(CharDfa::literals(views, states - 1, {}));
  }
}

TEST(CharDfa, LongListsEndWithTheirLimitOrWhenAsked) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2'000; ++i)
    texts.push_back(std::to_string(i * 7919) + std::string(200, 'x'));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  int questions = 0;
  const auto made = CharDfa::literals(views, CharDfa::kStatesMax, [&] { return ++questions < 0; });
  EXPECT_TRUE(made);
  EXPECT_GE(questions, 10);
  const auto stopped =
      CharDfa::literals(views, CharDfa::kStatesMax, [&] { return ++questions > 12; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kUnavailable);
}

TEST(CharDfa, LengthCountsCharacters) {
  const CharDfa two_or_three = CharDfa::length(2, 3).value();
  EXPECT_FALSE(two_or_three.contains("é"));
  EXPECT_TRUE(two_or_three.contains("é€"));
  EXPECT_TRUE(two_or_three.contains("\U0001F600\U0001F600\U0001F600"));
  EXPECT_FALSE(two_or_three.contains("abcd"));
  EXPECT_EQ(two_or_three.states_count(), 4u);
  EXPECT_EQ(CharDfa(two_or_three.ranges()), two_or_three);
  EXPECT_EQ(CharDfa::length(0, {}).value(), CharDfa::any_text());
  EXPECT_EQ(CharDfa::length(1, 1).value(), CharDfa::one_of(CharSet::all()));
  EXPECT_TRUE(CharDfa::length(3, 2).value().empty());
  const auto too_long = CharDfa::length(0, 4'000'000'000u);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().message,
            "this needs more than 20000 states: make lengths, numbers of repetitions or lists of "
            "texts smaller");
}

TEST(CharDfa, GivesUpAtItsLimit) {
  const CharDfa a = CharDfa::length(0, 99).value();
  const CharDfa b = CharDfa::length(50, {}).value();
  EXPECT_TRUE(a.intersect(b, 100));
  const auto failed = a.intersect(b, 99);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::grammar
