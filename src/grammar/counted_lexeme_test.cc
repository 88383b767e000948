// Counted lexemes in a grammar: every mask is that of the product of automata.
#include <gtest/gtest.h>

#include "base/random.h"
#include "grammar/grammar.h"
#include "grammar/lexeme/regex.h"
#include "grammar/lexeme/testing/automata.h"
#include "grammar/matcher.h"
#include "grammar/recognizer.h"

namespace windrow::grammar {
namespace {

constexpr Token kEnd = 256;

// All bytes, the end, and random pieces of strings, some long: what a token reaches decides which
// counts have one mask.
std::shared_ptr<const TokenTables> random_tables(Random& random, size_t bytes_max) {
  static constexpr std::string_view kPieces[] = {"a",
                                                 "b",
                                                 "aa",
                                                 "ab",
                                                 "ba",
                                                 " ",
                                                 "x",
                                                 "\"",
                                                 "\",",
                                                 ",",
                                                 "\n",
                                                 "\\",
                                                 "\\n",
                                                 "\\\"",
                                                 "\\u000a",
                                                 "\xC3\xA9",
                                                 "\xF0\x9F\x98\x80",
                                                 "\xC3"};
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  tokens.emplace_back();
  for (int i = 0; i < 250; ++i) {
    std::string token;
    for (uint64_t left = 2 + random.below(6); left > 0; --left)
      token += kPieces[random.below(random.chance(0.6) ? 7 : std::size(kPieces))];
    token.resize(std::min(token.size(), bytes_max));
    tokens.push_back(token);
  }
  return TokenTables::make(tokens, {kEnd});
}

// Two strings beside each other, so that tokens go on behind the first.
template <class Lexeme>
std::shared_ptr<CompiledGrammar> two_strings(const Lexeme& dfa,
                                             const std::shared_ptr<const TokenTables>& tables) {
  GrammarBuilder builder;
  const Part quote = builder.text("\"");
  const Part string = builder.sequence({quote, builder.lexeme(dfa), quote});
  const Part root = builder.sequence({string, builder.text(","), string});
  return std::make_shared<CompiledGrammar>(builder.finish(root).value(), tables);
}

void walk_both(Matcher counted, Matcher product, Random& random) {
  constexpr size_t kStepsMax = 120;
  for (size_t steps = 0; steps < kStepsMax; ++steps) {
    const auto mask = counted.mask();
    const auto expected = product.mask();
    ASSERT_TRUE(*mask == *expected) << "behind " << steps << " tokens";
    ASSERT_EQ(counted.can_end(), product.can_end());
    std::vector<Token> allowed;
    for (Token token = 0; token < expected->size(); ++token) {
      if (expected->allows(token)) allowed.push_back(token);
    }
    if (allowed.empty()) return;
    const Token token = allowed[random.below(allowed.size())];
    ASSERT_TRUE(counted.accept(token));
    ASSERT_TRUE(product.accept(token));
    if (token == kEnd || product.bytes_behind_end() > 0) return;
  }
}

void compare(const CharDfa& dfa, const CharCount& count, Random& random) {
  const bool ends = count.max != CharCount::kEndless;
  const CharDfa length =
      CharDfa::length(count.min, ends ? std::optional(count.max) : std::nullopt).value();
  const CharDfa product = dfa.intersect(length).value();
  const auto counted = CountedDfa::make(json_string_dfa(dfa), dfa.states_count(), count).value();
  ASSERT_EQ(counted->empty(), product.empty());
  if (product.empty()) return;
  const auto tables = random_tables(random, random.chance(0.5) ? 4 : 20);
  const auto as_counted = two_strings(counted, tables);
  const auto as_product = two_strings(json_string_dfa(product), tables);
  for (int walk = 0; walk < 2 && !::testing::Test::HasFailure(); ++walk)
    walk_both(Matcher(as_counted), Matcher(as_product), random);
}

TEST(CountedLexeme, HasTheMasksOfTheProductForRandomAutomata) {
  constexpr uint64_t kSeed = 4;
  Random random(kSeed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const CharDfa dfa(random_range_dfa(random, 1 + random.below(6), 2 + random.below(9)));
    if (dfa.empty() || dfa == CharDfa::any_text()) continue;
    CharCount count;
    if (random.chance(0.6)) count.min = static_cast<uint32_t>(random.below(30));
    if (random.chance(0.8)) count.max = count.min + static_cast<uint32_t>(random.below(40));
    ASSERT_NO_FATAL_FAILURE(compare(dfa, count, random));
    ASSERT_FALSE(HasFailure());
  }
}

TEST(CountedLexeme, HasTheMasksOfTheProductForPatterns) {
  Random random(9);
  for (const char* pattern :
       {R"(^(?:\S+\s+){0,9}\S+$)", "^[^x]*$", "^[a ]+$", "^[^\n]+b$", "^(ab)*$", "^a{3,30}$",
        "^$|^.{5,}$", "^a*b{12}", "a", "^[ab]+( [ab]+)*$", "^.{0,25}$", "^(.|\n)*$|^x"}) {
    SCOPED_TRACE(pattern);
    const CharDfa dfa = regex_dfa(pattern, RegexMeaning::kSearch).value();
    for (const CharCount& count :
         {CharCount{.min = 0, .max = 60}, CharCount{.min = 0, .max = 7},
          CharCount{.min = 30, .max = 90}, CharCount{.min = 40, .max = CharCount::kEndless},
          CharCount{.min = 12, .max = 12}, CharCount{.min = 1, .max = 500}}) {
      SCOPED_TRACE(count.min);
      SCOPED_TRACE(count.max);
      ASSERT_NO_FATAL_FAILURE(compare(dfa, count, random));
      ASSERT_FALSE(HasFailure());
    }
  }
}

// Counts enter a mask only as far as a token can reach.
TEST(CountedLexeme, StringsOfDifferentLengthsShareMasks) {
  const CharDfa dfa = regex_dfa("^[a-c]+$", RegexMeaning::kSearch).value();
  const auto counted =
      CountedDfa::make(json_string_dfa(dfa), dfa.states_count(), {.min = 1'000, .max = 3'000})
          .value();
  GrammarBuilder builder;
  Recognizer recognizer(builder.finish(builder.lexeme(counted)).value(), 10);
  std::vector<StateId> keys;
  StateId state = Recognizer::kFirst;
  for (int i = 0; i <= 3'000; ++i) {
    ASSERT_NE(state, Recognizer::kDead) << i;
    ASSERT_EQ(recognizer.can_end(state), i >= 1'000) << i;
    keys.push_back(recognizer.clipped(state));
    state = recognizer.step(state, 'a');
  }
  EXPECT_EQ(state, Recognizer::kDead);
  std::sort(keys.begin(), keys.end());
  const auto different = std::unique(keys.begin(), keys.end()) - keys.begin();
  EXPECT_LT(different, 30);
}

TEST(CountedLexeme, LexemesWithOneAutomatonAreChargedOnce) {
  const CharDfa dfa = regex_dfa("^(ab{300}x)*$", RegexMeaning::kSearch).value();
  const auto bytes = [&dfa](uint32_t lexemes) {
    GrammarBuilder builder;
    std::vector<Part> parts;
    for (uint32_t i = 0; i < lexemes; ++i) {
      parts.push_back(builder.lexeme(
          CountedDfa::make(json_string_dfa(dfa), dfa.states_count(), {.max = 50 + i}).value()));
    }
    return builder.finish(builder.sequence(parts)).value()->bytes;
  };
  EXPECT_LT(bytes(2), bytes(1) * 17 / 10);
}

TEST(CountedLexeme, WithoutATextIsLeftOut) {
  const CharDfa dfa = regex_dfa("^(ab)*$", RegexMeaning::kSearch).value();
  const auto odd =
      CountedDfa::make(json_string_dfa(dfa), dfa.states_count(), {.min = 3, .max = 3}).value();
  GrammarBuilder builder;
  const auto grammar =
      builder.finish(builder.choice({builder.lexeme(odd), builder.text("x")})).value();
  Recognizer recognizer(grammar);
  EXPECT_EQ(recognizer.step(Recognizer::kFirst, 'a'), Recognizer::kDead);
  EXPECT_NE(recognizer.step(Recognizer::kFirst, 'x'), Recognizer::kDead);
}

}  // namespace
}  // namespace windrow::grammar
