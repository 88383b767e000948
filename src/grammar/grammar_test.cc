#include "grammar/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "grammar/recognizer.h"
#include "grammar/testing/reference_grammar.h"
#include "grammar/testing/simple_grammars.h"

namespace windrow::grammar {
namespace {

using testing::choice_grammar;
using ::testing::HasSubstr;
using testing::random_grammar;
using testing::ReferenceGrammar;
using testing::regex_grammar;

// The state behind a text, kDead where no text begins so.
StateId behind(Recognizer& recognizer, std::string_view text) {
  StateId state = Recognizer::kFirst;
  for (const char byte : text)
    state = recognizer.step(state, static_cast<uint8_t>(byte));
  return state;
}

bool accepts(Recognizer& recognizer, std::string_view text) {
  return recognizer.can_end(behind(recognizer, text));
}

// A shortest way from a state to an end, in the letters a and b; or nothing within so many states.
std::optional<std::string> way_to_end(Recognizer& recognizer, StateId from) {
  std::map<StateId, std::string> ways = {{from, ""}};
  std::deque<StateId> todo = {from};
  while (!todo.empty() && ways.size() < 5000) {
    const StateId state = todo.front();
    todo.pop_front();
    if (recognizer.can_end(state)) return ways[state];
    for (const char byte : {'a', 'b'}) {
      const StateId to = recognizer.step(state, static_cast<uint8_t>(byte));
      if (to == Recognizer::kDead || ways.contains(to)) continue;
      ways[to] = ways[state] + byte;
      todo.push_back(to);
    }
  }
  return std::nullopt;
}

// Every text of at most so many letters a and b.
std::vector<std::string> all_texts(size_t length_max) {
  std::vector<std::string> texts = {""};
  for (size_t at = 0; texts[at].size() < length_max; ++at) {
    texts.push_back(texts[at] + 'a');
    texts.push_back(texts[at] + 'b');
  }
  return texts;
}

TEST(GrammarTest, RandomGrammarsHaveExactlyTheirTexts) {
  const std::vector<std::string> texts = all_texts(6);
  int built = 0;
  int recursive = 0;
  for (uint64_t seed = 1; seed <= windrow::testing::rounds(400U, 1500U); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ReferenceGrammar reference = random_grammar(random);
    SCOPED_TRACE(reference.describe());
    const auto grammar = reference.build();
    if (!grammar) {
      EXPECT_THAT(grammar.error().message, ::testing::ContainsRegex("begins with itself|no text"));
      if (grammar.error().message.find("no text") == std::string::npos) continue;
      for (const std::string& text : texts)
        ASSERT_FALSE(reference.contains(text)) << text;
      continue;
    }
    ++built;
    recursive += reference.parts[0].kind == ReferenceGrammar::Kind::kRule ? 1 : 0;
    Recognizer recognizer(*grammar);
    for (const std::string& text : texts) {
      const StateId state = behind(recognizer, text);
      const bool contained = reference.contains(text);
      ASSERT_EQ(recognizer.can_end(state), contained) << '"' << text << '"';
      if (state == Recognizer::kDead || contained) continue;
      const std::optional<std::string> rest = way_to_end(recognizer, state);
      ASSERT_TRUE(rest.has_value()) << '"' << text << "\" leads nowhere";
      if (text.size() + rest->size() > 60) continue;
      ASSERT_TRUE(reference.contains(text + *rest)) << '"' << text << *rest << '"';
    }
  }
  EXPECT_GT(built, windrow::testing::rounds(120, 700));
  EXPECT_GT(recursive, windrow::testing::rounds(50, 300));
}

TEST(GrammarTest, StatesThatAreKeptStayWhatTheyAre) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto grammar = random_grammar(random).build();
    if (!grammar) continue;
    Recognizer kept(*grammar);
    Recognizer plain(*grammar);
    for (int round = 0; round < 20; ++round) {
      std::string text;
      StateId state = Recognizer::kFirst;
      StateId same = Recognizer::kFirst;
      for (int i = 0; i < 12; ++i) {
        const uint8_t byte = random.chance(0.5) ? 'a' : 'b';
        state = kept.step(state, byte);
        same = plain.step(same, byte);
        if (random.chance(0.3)) {
          StateId* const wanted = &state;
          kept.keep_only({&wanted, 1});
        }
        ASSERT_EQ(kept.can_end(state), plain.can_end(same));
        ASSERT_EQ(kept.goes_on(state), plain.goes_on(same));
        ASSERT_EQ(kept.positions(state).size(), plain.positions(same).size());
      }
    }
  }
}

TEST(GrammarTest, TwoReadingsAtEveryStepStayFew) {
  // 2^n ways to read n letters a: what is to come differs, and must be known.
  GrammarBuilder builder;
  const Part rule = builder.rule("r");
  builder.define(rule,
                 builder.choice({builder.sequence({builder.text("a"), rule, builder.text("b")}),
                                 builder.sequence({builder.text("a"), rule, builder.text("c")}),
                                 builder.nothing()}));
  Recognizer recognizer(builder.finish(rule).value());
  std::string text(400, 'a');
  EXPECT_FALSE(accepts(recognizer, text));
  Random random(1);
  for (int i = 0; i < 400; ++i)
    text += random.chance(0.5) ? 'b' : 'c';
  EXPECT_TRUE(accepts(recognizer, text));
  EXPECT_FALSE(accepts(recognizer, text + 'b'));
  EXPECT_LT(recognizer.memory_bytes(), 4u << 20);
}

TEST(GrammarTest, CountersHold) {
  GrammarBuilder builder;
  const Part item = builder.choice({builder.text("a"), builder.text("bb")});
  Recognizer recognizer(builder.finish(builder.repeat(item, 100, 300)).value());
  EXPECT_FALSE(accepts(recognizer, std::string(99, 'a')));
  EXPECT_TRUE(accepts(recognizer, std::string(100, 'a')));
  EXPECT_TRUE(accepts(recognizer, std::string(600, 'b')));
  EXPECT_FALSE(accepts(recognizer, std::string(599, 'b')));
  EXPECT_EQ(behind(recognizer, std::string(300, 'a') + 'a'), Recognizer::kDead);
  EXPECT_FALSE(recognizer.goes_on(behind(recognizer, std::string(300, 'a'))));
}

TEST(GrammarTest, RecursionAtTheEndNeedsNoStack) {
  GrammarBuilder builder;
  const Part rule = builder.rule("list");
  builder.define(rule,
                 builder.sequence({builder.text("a"), builder.choice({builder.nothing(), rule})}));
  Recognizer recognizer(builder.finish(rule).value());
  behind(recognizer, std::string(100, 'a'));
  const size_t bytes = recognizer.memory_bytes();
  EXPECT_TRUE(accepts(recognizer, std::string(100'000, 'a')));
  EXPECT_EQ(recognizer.memory_bytes(), bytes);
}

TEST(GrammarTest, DeepGrammarsAndDeepTextsNeedNoDeepCalls) {
  GrammarBuilder builder;
  Part chain = builder.text("a");
  for (int i = 0; i < 150'000; ++i)
    chain = i % 2 == 0 ? builder.sequence({chain}) : builder.choice({chain, chain});
  Recognizer deep(builder.finish(chain).value());
  EXPECT_TRUE(accepts(deep, "a"));

  GrammarBuilder nested;
  const Part rule = nested.rule("r");
  nested.define(rule, nested.choice({nested.sequence({nested.text("["), rule, nested.text("]")}),
                                     nested.nothing()}));
  Recognizer recognizer(nested.finish(rule).value(), 20);
  StateId state = behind(recognizer, std::string(200'000, '['));
  state = recognizer.clipped(state);
  StateId* const kept = &state;
  recognizer.keep_only({&kept, 1});
  for (int i = 0; i < 200'000; ++i)
    state = recognizer.step(state, ']');
  EXPECT_TRUE(recognizer.can_end(state));
  EXPECT_FALSE(recognizer.goes_on(state));
}

TEST(GrammarTest, TellsWhyAPartIsRefused) {
  const auto message = [](auto&& make, const GrammarLimits& limits = {}) {
    GrammarBuilder builder;
    const Part root = make(builder);
    const auto grammar = builder.finish(root, limits);
    return grammar ? std::string("built") : grammar.error().message;
  };
  EXPECT_EQ(message([](GrammarBuilder& b) { return b.rule("x"); }),
            "the rule \"x\" is used, but not defined");
  EXPECT_EQ(message([](GrammarBuilder& b) {
              const Part x = b.rule("x");
              b.define(x, b.sequence({b.text("a"), x}));
              return x;
            }),
            "the rule \"x\" has no text: it never ends, or asks for something that cannot be");
  EXPECT_EQ(message([](GrammarBuilder& b) {
              const Part x = b.rule("x");
              b.define(x, b.choice({b.sequence({b.nothing(), x, b.text("b")}), b.text("a")}));
              return b.sequence({b.text("c"), x});
            }),
            "the rule \"x\" begins with itself (left recursion); write it as a repetition");
  EXPECT_EQ(message([](GrammarBuilder& b) {
              const Part x = b.rule("x");
              const Part y = b.rule("y");
              b.define(x, b.choice({y, b.text("a")}));
              b.define(y, b.sequence({b.repeat(b.text("a"), 0, 1), x, b.text("a")}));
              return x;
            }),
            "the rule \"x\" begins with itself (left recursion, by way of \"y\"); write it as a "
            "repetition");
  EXPECT_EQ(message([](GrammarBuilder& b) { return b.text(std::string(5 << 20, 'a')); },
                    {.bytes_max = 1 << 20}),
            "the grammar needs more than 1 MiB; at most that is allowed");
  EXPECT_THAT(message([](GrammarBuilder& b) { return b.sequence({b.text("a"), b.text("b")}); },
                      {.parts_max = 2}),
              HasSubstr("3 parts"));
  // An alternative without a text is left out, also where it would be left recursive.
  EXPECT_EQ(message([](GrammarBuilder& b) {
              const Part x = b.rule("x");
              b.define(x, b.choice({b.sequence({x, x}), b.text("a")}));
              const Part y = b.rule("y");
              b.define(y, b.sequence({y, b.text("a")}));
              return b.choice({b.text("a"), y});
            }),
            "built");
}

bool accepts_text(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Recognizer recognizer(grammar);
  return accepts(recognizer, text);
}

TEST(GrammarPartTest, AChoiceHasExactlyItsTexts) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto word = [&] {
      std::string text;
      for (uint64_t left = random.below(5); left > 0; --left)
        text += static_cast<char>(random.chance(0.9) ? 'a' + random.below(2) : random.below(256));
      return text;
    };
    std::vector<std::string> texts(1 + random.below(30));
    for (std::string& text : texts)
      text = word();
    const std::set<std::string> known(texts.begin(), texts.end());
    const auto grammar = choice_grammar(texts).value();
    for (const std::string& text : texts)
      ASSERT_TRUE(accepts_text(grammar, text));
    for (int i = 0; i < 200; ++i) {
      const std::string text = word();
      ASSERT_EQ(accepts_text(grammar, text), known.contains(text)) << text;
    }
  }
}

TEST(GrammarPartTest, ARegularExpressionMatchesAllOfTheText) {
  const auto grammar = regex_grammar("[a-z]+(-[0-9]{2})?").value();
  EXPECT_TRUE(accepts_text(grammar, "abc-12"));
  EXPECT_TRUE(accepts_text(grammar, "abc"));
  EXPECT_FALSE(accepts_text(grammar, "abc-123"));
  EXPECT_FALSE(accepts_text(grammar, "1abc"));
}

TEST(GrammarPartTest, TellsWhyAPartIsRefused) {
  EXPECT_EQ(choice_grammar({}).error().message, "there are no choices; give at least one text");
  const std::vector<std::string> three = {"a", "b", "c"};
  EXPECT_THAT(choice_grammar(three, {.parts_max = 2}).error().message,
              HasSubstr("3 choices of 3 bytes are too many"));
  EXPECT_FALSE(regex_grammar("(a").has_value());
  EXPECT_FALSE(regex_grammar("(?=a)b").has_value());
}

}  // namespace
}  // namespace windrow::grammar
