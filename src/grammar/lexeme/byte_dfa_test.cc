#include "grammar/lexeme/byte_dfa.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/utf8.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

std::string utf8_of(std::u32string_view text) {
  std::string bytes;
  for (const char32_t character : text)
    append_utf8(character, bytes);
  return bytes;
}

std::string between_quotes(std::string_view text) {
  const std::string quoted = json::serialize(json::value(text));
  return quoted.substr(1, quoted.size() - 2);
}

// What Boost.JSON reads, or nothing where it refuses.
std::optional<std::string> read_string(std::string_view between) {
  json::error_code error;
  const json::value value = json::parse(fmt::format("\"{}\"", between), error);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

TEST(Utf8Dfa, HasTheTextsOfTheCharDfa) {
  constexpr uint64_t kSeed = 6;
  constexpr size_t kCount = std::size(kLetters);
  Random random(kSeed);
  const auto texts = all_texts(kCount, 3);
  for (int round = 0; round < 200; ++round) {
    const CharDfa chars(random_range_dfa(random, 1 + random.below(6), kCount));
    if (chars.empty()) continue;
    const auto bytes = utf8_dfa(chars);
    ASSERT_EQ(useless_states(*bytes), 0u);
    for (const std::u32string& text : texts)
      ASSERT_EQ(bytes->contains(utf8_of(text)), runs(chars.ranges(), text))
          << "seed " << kSeed << " round " << round;
    const RandomWalks walks(*bytes);
    for (int i = 0; i < 20; ++i) {
      const std::string text = walks.text(random, random.below(40));
      ASSERT_TRUE(bytes->contains(text));
      ASSERT_TRUE(chars.contains(text)) << "seed " << kSeed << " round " << round;
    }
  }
}

TEST(Utf8Dfa, EveryCharacterAndNothingElse) {
  const auto any = utf8_dfa(CharDfa::one_of(CharSet::all()));
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    std::string bytes;
    append_utf8(character, bytes);
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    ASSERT_EQ(any->contains(bytes), !surrogate) << static_cast<uint32_t>(character);
  }
  // Every sequence of up to three bytes is well-formed here and for characters_of alike.
  for (uint32_t a = 0; a < 256; ++a) {
    for (uint32_t b = 0; b < 256; ++b) {
      for (const int c : {0x00, 0x7F, 0x80, 0x8F, 0x9F, 0xA0, 0xBF, 0xC0}) {
        std::string bytes{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        const auto characters = code_points(bytes);
        ASSERT_EQ(any->contains(bytes), characters && characters->size() == 1) << a << " " << b;
      }
    }
  }
}

TEST(Utf8Dfa, RangesAreCutAtAnyPlace) {
  constexpr uint64_t kSeed = 7;
  Random random(kSeed);
  for (int round = 0; round < 300; ++round) {
    // Three neighbouring sets, each to its own length of text.
    std::array<char32_t, 4> cuts{};
    for (char32_t& cut : cuts)
      cut = static_cast<char32_t>(random.below(random.chance(0.5) ? 0x110000 : 0x1000));
    std::sort(cuts.begin(), cuts.end());
    RangeDfa dfa;
    dfa.begin_state(false);
    for (uint32_t i = 0; i < 3; ++i) {
      if (cuts[i] == cuts[i + 1]) continue;
      const CharSet set({{cuts[i], cuts[i + 1] - 1}});
      for (const CharRange& range : set.ranges())
        dfa.add_edge(range, 3 - i);
    }
    dfa.begin_state(true);
    for (uint32_t i = 0; i < 2; ++i) {
      dfa.begin_state(false);
      dfa.add_edge({'x', 'x'}, i + 1);
    }
    const CharDfa chars(dfa);
    if (chars.empty()) continue;
    const auto utf8 = utf8_dfa(chars);
    const auto json_string = json_string_dfa(chars);
    for (int i = 0; i < 200; ++i) {
      char32_t character = cuts[random.below(4)] - 1 + static_cast<char32_t>(random.below(3));
      if (random.chance(0.3)) character = static_cast<char32_t>(random.below(0x110000));
      if (character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) continue;
      std::u32string text(1, character);
      for (int more = 0; more < 3; ++more, text += U'x') {
        const bool wanted = runs(dfa, text);
        ASSERT_EQ(utf8->contains(utf8_of(text)), wanted) << "seed " << kSeed << " " << round;
        ASSERT_EQ(json_string->contains(between_quotes(utf8_of(text))), wanted)
            << "seed " << kSeed << " round " << round << ": " << utf8_of(text);
      }
    }
  }
}

TEST(JsonStringDfa, HasTheTextsAsJsonWritesThem) {
  constexpr uint64_t kSeed = 8;
  constexpr size_t kCount = std::size(kLetters);
  Random random(kSeed);
  const auto texts = all_texts(kCount, 3);
  for (int round = 0; round < 200; ++round) {
    const CharDfa chars(random_range_dfa(random, 1 + random.below(6), kCount));
    if (chars.empty()) continue;
    const auto bytes = json_string_dfa(chars);
    ASSERT_EQ(useless_states(*bytes), 0u);
    for (const std::u32string& text : texts) {
      const std::string utf8 = utf8_of(text);
      ASSERT_EQ(bytes->contains(between_quotes(utf8)), runs(chars.ranges(), text))
          << "seed " << kSeed << " round " << round << ": " << utf8;
    }
    const RandomWalks walks(*bytes);
    for (int i = 0; i < 20; ++i) {
      const std::string walk = walks.text(random, random.below(60));
      const auto text = read_string(walk);
      ASSERT_TRUE(text) << "seed " << kSeed << " round " << round << ": " << walk;
      ASSERT_TRUE(chars.contains(*text)) << "seed " << kSeed << " round " << round << ": " << walk;
    }
  }
}

TEST(JsonStringDfa, ControlCharactersHaveTheirEscapesAndNoMore) {
  const std::string_view text = "a\n\x1f\"\\/";
  const auto dfa = json_string_dfa(CharDfa::literals({&text, 1}));
  for (const std::string_view good :
       {R"(a\n\u001f\"\\/)", R"(a\u000a\u001F\"\\/)", R"(a\u000A\u001f\u0022\u005C/)"})
    EXPECT_TRUE(dfa->contains(good)) << good;
  for (const std::string_view bad :
       {R"(a\n\x1f\"\\/)", R"(a\n\u001f"\\/)", R"(a\n\u001f\"\\\/)", R"(\u0061\n\u001f\"\\/)",
        "a\n\\u001f\\\"\\\\/", R"(a\n\u001f\"\\)", R"(a\u000b\u001f\"\\/)"})
    EXPECT_FALSE(dfa->contains(bad)) << bad;
}

TEST(JsonStringDfa, AnyStringIsWhatBoostReads) {
  constexpr uint64_t kSeed = 9;
  constexpr std::string_view kBytes[] = {
      "\\",  "u",    "d8",   "3d",       "de",       "00",   "DB",
      "Dc",  "ff",   "D",    "0",        "\"",       "/",    "n",
      "x",   "\x01", "\x7f", "\xc3\xa9", "\xed\xa0", "\x80", "\xf0\x9f\x98\x80",
      "\\u", "\\ud"};
  Random random(kSeed);
  const auto dfa = json_any_string_dfa();
  EXPECT_EQ(useless_states(*dfa), 0u);
  int accepted = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string text;
    for (uint64_t i = random.below(8); i > 0; --i)
      text += kBytes[random.below(std::size(kBytes))];
    const bool wanted = read_string(text).has_value();
    accepted += wanted ? 1 : 0;
    ASSERT_EQ(dfa->contains(text), wanted)
        << "seed " << kSeed << " round " << round << ": " << text;
  }
  EXPECT_GT(accepted, 10'000);
  const RandomWalks walks(*dfa);
  for (int round = 0; round < 2000; ++round) {
    const std::string walk = walks.text(random, random.below(60));
    ASSERT_TRUE(read_string(walk)) << "seed " << kSeed << " round " << round << ": " << walk;
  }
  EXPECT_FALSE(dfa->contains(R"(\ud83d)"));
  EXPECT_FALSE(dfa->contains(R"(\ude00)"));
  EXPECT_TRUE(dfa->contains(R"(\ud83d\uDE00)"));
}

TEST(JsonStringDfa, OneCharacterHasEverySpellingToo) {
  const auto dfa = json_any_character_dfa();
  EXPECT_EQ(useless_states(*dfa), 0u);
  for (const std::string_view one :
       {"a", "é", "\U0001F600", R"(\n)", R"(\u0041)", R"(\ud83d\ude00)"})
    EXPECT_TRUE(dfa->contains(one)) << one;
  for (const std::string_view other : {"", "ab", R"(\ud83d)", R"(\u0041\u0041)", "\n", "\""})
    EXPECT_FALSE(dfa->contains(other)) << other;
}

TEST(JsonStringDfa, TheGeneralOnesAreShared) {
  EXPECT_EQ(json_string_dfa(CharDfa::any_text()), json_any_string_dfa());
  EXPECT_EQ(json_string_dfa(CharDfa::one_of(CharSet::all())), json_any_character_dfa());
}

TEST(JsonStringDfa, AnAutomatonIsSpelledOnceForAllItsCopies) {
  const CharDfa dfa = CharDfa::length(2, 3).value();
  CharDfa copy = CharDfa::nothing();
  copy = dfa;
  const auto spelled = json_string_dfa(dfa);
  EXPECT_EQ(json_string_dfa(copy), spelled);
  EXPECT_EQ(json_string_dfa(dfa), spelled);
}

TEST(ByteDfa, BytesThatAreAlikeShareAClass) {
  const auto dfa = utf8_dfa(CharDfa::one_of(CharSet({{'0', '9'}, {'a', 'z'}})));
  EXPECT_EQ(dfa->classes_count, 2u);
  EXPECT_EQ(dfa->class_of['5'], dfa->class_of['x']);
  EXPECT_NE(dfa->class_of['5'], dfa->class_of['X']);
}

}  // namespace
}  // namespace windrow::grammar
