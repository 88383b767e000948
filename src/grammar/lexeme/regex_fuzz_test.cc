// Random patterns, of pieces that have a meaning in some syntax and of bytes: nothing throws, an
// error says why, and every automaton has no useless states.
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/regex.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

constexpr std::string_view kPieces[] = {"a",     "b",       "é",       "\xF0\x9F\x98\x80",
                                        "(",     ")",       "(?:",     "(?<n>",
                                        "(?=",   "(?!",     "(?<=",    "[",
                                        "]",     "[^",      "-",       "^",
                                        "$",     ".",       "*",       "+",
                                        "?",     "{2}",     "{1,3}",   "{,2}",
                                        "{0,}",  "{",       "}",       "|",
                                        "\\d",   "\\W",     "\\s",     "\\b",
                                        "\\u",   "\\u00e9", "\\u{",    "\\x4",
                                        "\\x41", "\\c",     "\\cJ",    "\\1",
                                        "\\0",   "\\",      "\\p{L}",  "0",
                                        "9",     "\\ud83d", "\\ude00", "\xFF",
                                        ",",     "]]"};

TEST(RegexFuzz, NothingThrowsAndEveryRefusalSaysWhy) {
  constexpr uint64_t kSeed = 20261122;
  Random random(kSeed);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::string pattern;
    for (uint64_t i = random.below(12); i > 0; --i) {
      if (random.chance(0.02)) {
        pattern += static_cast<char>(random.below(256));
      } else {
        pattern += kPieces[random.below(std::size(kPieces))];
      }
    }
    const auto meaning = random.chance(0.5) ? RegexMeaning::kSearch : RegexMeaning::kWhole;
    Result<CharDfa> dfa;
    ASSERT_NO_THROW(dfa = regex_dfa(pattern, meaning, 2000))
        << "seed " << kSeed << " round " << round << ": " << pattern;
    if (!dfa) {
      ++refused;
      const bool says_why = dfa.error().message.starts_with("character ") ||
                            dfa.error().message.starts_with("the pattern ") ||
                            dfa.error().message.starts_with("this needs ");
      ASSERT_TRUE(says_why) << pattern << ": " << dfa.error().message;
      continue;
    }
    ++accepted;
    if (dfa->empty() || round % 8 != 0) continue;
    const auto bytes = json_string_dfa(*dfa);
    ASSERT_EQ(useless_states(*bytes), 0u)
        << "seed " << kSeed << " round " << round << ": " << pattern;
  }
  // Else the patterns are too wild, or too tame, to find anything.
  EXPECT_GT(accepted, 3000);
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace windrow::grammar
