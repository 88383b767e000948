#include "grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "grammar/recognizer.h"

namespace windrow::grammar {
namespace {

using ::testing::StartsWith;

bool accepts(std::string_view gbnf, std::string_view text) {
  const auto grammar = parse_gbnf(gbnf);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
  if (!grammar) return false;
  Recognizer recognizer(*grammar);
  StateId state = Recognizer::kFirst;
  for (const char byte : text)
    state = recognizer.step(state, static_cast<uint8_t>(byte));
  return recognizer.can_end(state);
}

std::string error(std::string_view gbnf) {
  const auto grammar = parse_gbnf(gbnf);
  return grammar ? "no error" : grammar.error().message;
}

TEST(GbnfTest, LiteralsAndTheirEscapes) {
  EXPECT_TRUE(accepts(R"(root ::= "a\n\t\r\"\\\x41\u20ac\U0001F600[]")",
                      "a\n\t\r\"\\A\xE2\x82\xAC\xF0\x9F\x98\x80[]"));
  EXPECT_TRUE(accepts("root ::= \"\xE2\x82\xAC\"", "\xE2\x82\xAC"));
  EXPECT_TRUE(accepts("root ::= \"\\xE4\"", "\xC3\xA4")) << "a character, not a byte";
  EXPECT_TRUE(accepts("root ::= 'it\"s' \"'\"", "it\"s'"));
  EXPECT_TRUE(accepts("root ::= \"\"", ""));
}

TEST(GbnfTest, ClassesAreOverCharacters) {
  EXPECT_TRUE(accepts("root ::= [a-c\xC3\xA4x-]", "\xC3\xA4"));
  EXPECT_TRUE(accepts("root ::= [a-c\xC3\xA4x-]", "-"));
  EXPECT_FALSE(accepts("root ::= [a-c\xC3\xA4x-]", "d"));
  EXPECT_FALSE(accepts("root ::= [a-c\xC3\xA4x-]", "\xC3"));
  EXPECT_TRUE(accepts("root ::= [^a-z]", "\xF0\x9F\x98\x80")) << "one character, four bytes";
  EXPECT_TRUE(accepts("root ::= [^a-z]", "\n"));
  EXPECT_FALSE(accepts("root ::= [^a-z]", "k"));
  EXPECT_TRUE(accepts("root ::= .", "\n"));
  EXPECT_FALSE(accepts("root ::= .", "ab"));
  EXPECT_FALSE(accepts("root ::= .", "\xED\xA0\x80")) << "a surrogate is no character";
  EXPECT_TRUE(accepts(R"(root ::= [\]\\\u20ac-\u20af]{4})", "]\\\xE2\x82\xAD\xE2\x82\xAF"));
}

TEST(GbnfTest, RepetitionsCount) {
  EXPECT_TRUE(accepts("root ::= \"ab\"{2}", "abab"));
  EXPECT_FALSE(accepts("root ::= \"ab\"{2}", "abb"));
  EXPECT_TRUE(accepts("root ::= \"a\"{2,} \"b\"{,2} \"c\"?", "aaabb"));
  EXPECT_FALSE(accepts("root ::= \"a\"{2,}", "a"));
  EXPECT_FALSE(accepts("root ::= \"a\"{1,3}", "aaaa"));
  EXPECT_TRUE(accepts("root ::= (\"a\" | \"b\")* \"c\"+", "abbac"));
  EXPECT_TRUE(accepts("root ::= \"a\"{0}", ""));
}

TEST(GbnfTest, RulesMayBeWrittenInManyWays) {
  constexpr std::string_view kText = R"(
# a list
root   ::= "[" ws ( item ("," ws item)* )? "]"   # with anything in it
item   ::= number
         | root ws
         | ( "true"   # over lines
             | "false" )
           ws
number ::= "-"? [0-9]+ ws
ws     ::= [ \t\n]*
)";
  EXPECT_TRUE(accepts(kText, "[1, -20,[true , []]]"));
  EXPECT_FALSE(accepts(kText, "[1, -20,[true , []]"));
  EXPECT_TRUE(accepts("root := a b;\na: 'x';\nb : 'y'", "xy"));
  EXPECT_TRUE(accepts("root ::= \"a\" |", "")) << "an empty alternative";
  EXPECT_TRUE(accepts("root ::= \"a\"\r\n | b_1\r\nb_1 ::= \"b\"", "b"));
}

TEST(GbnfTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(error(""), "the grammar is empty; it needs a rule \"root\"");
  EXPECT_EQ(error("a ::= \"x\""), "there is no rule \"root\", which is what the text has to be");
  EXPECT_EQ(error("root ::= a"), "line 1, column 10: the rule \"a\" is used here, but not defined");
  EXPECT_EQ(error("root ::= \"a\"\n\nroot ::= \"b\""),
            "line 3, column 1: the rule \"root\" is defined twice");
  EXPECT_EQ(error("root = \"a\""), "line 1, column 6: a rule is defined by ::=, not by =");
  EXPECT_EQ(error("root \"a\""), "line 1, column 6: \"::=\" is expected behind the name of a rule");
  EXPECT_EQ(error("root ::= \"a"), "line 1, column 10: this text is not closed");
  EXPECT_EQ(error("root ::= [a"), "line 1, column 10: this [ is not closed");
  EXPECT_EQ(error("root ::= (\"a\"\n"), "line 1, column 10: this ( is not closed");
  EXPECT_EQ(error("root ::= \"\xC3\xA4\" )"), "line 1, column 14: this ) closes nothing");
  EXPECT_EQ(error("root ::= []"), "line 1, column 10: this class has no characters");
  EXPECT_EQ(error("root ::= [z-a]"),
            "line 1, column 11: this range is empty: its end comes before it");
  EXPECT_EQ(error("root ::= *"),
            "line 1, column 10: there is nothing before this * that it could repeat");
  EXPECT_EQ(error("root ::= \"a\"{3,2}"), "line 1, column 13: at least 3 times, but at most 2");
  EXPECT_EQ(error("root ::= \"a\"{,}"), "line 1, column 13: {,} has no bound; write *");
  EXPECT_EQ(error("root ::= \"a\"{99999999}"),
            "line 1, column 14: at most 1000000 repetitions are allowed");
  EXPECT_THAT(error("root ::= \"\\q\""), StartsWith("line 1, column 11: there is no such escape"));
  EXPECT_EQ(error("root ::= \"\\ud800\""),
            "line 1, column 11: this escape is no character of Unicode");
  EXPECT_EQ(error("root ::= \"\\x4\""),
            "line 1, column 11: 2 hexadecimal digits are expected in this escape");
  for (const std::string_view token : {"<think>", "<[123]>", "!<think>"}) {
    EXPECT_EQ(
        error("root ::= \"a\" " + std::string(token)),
        "line 1, column 14: tokens of a vocabulary (<name>, <[id]>) cannot stand in a grammar; "
        "write the text");
  }
  EXPECT_EQ(error("root ::= \"\xFF\""), "line 1, column 11: this is not UTF-8");
  EXPECT_THAT(error("root ::= a\na ::= b \"x\" | \"y\"\nb ::= \"z\"? a"),
              StartsWith("the rule \"a\" begins with itself (left recursion, by way of \"b\")"));
  EXPECT_THAT(error("root ::= \"a\" root"), StartsWith("the rule \"root\" has no text"));
  EXPECT_THAT(error("root ::= " + std::string(300, '(')),
              StartsWith("line 1, column 210: more than 200 parentheses"));
}

// Whatever is given is a grammar or an error; and where it is one, it can be run.
TEST(GbnfTest, FuzzedTextsAreGrammarsOrErrors) {
  const std::vector<std::string> pieces = {
      "root", "::=",     "a",  "b",     " ",         "\n",     "|",      "(",
      ")",    "\"x\"",   "\"", "[a-z]", "[^",        "]",      "*",      "+",
      "?",    "{",       "}",  "2",     ",",         "#",      "\\",     "\\x4",
      ".",    "<",       "-",  ":",     ";",         "'",      "=",      "\xC3",
      "\xA4", "\\u20ac", "\r", "{2,3}", "root ::= ", "a ::= ", "b ::= ", "\nroot ::= a b\na ::= "};
  int grammars = 0;
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string text = random.chance(0.7) ? "root ::= " : "";
    for (uint64_t left = random.below(14); left > 0; --left)
      text += pieces[random.below(pieces.size())] + (random.chance(0.5) ? " " : "");
    const auto grammar = parse_gbnf(text, {.parts_max = 1000, .bytes_max = 1 << 20});
    if (!grammar) {
      ASSERT_FALSE(grammar.error().message.empty());
      continue;
    }
    ++grammars;
    Recognizer recognizer(*grammar);
    StateId state = Recognizer::kFirst;
    ASSERT_TRUE(recognizer.can_end(state) || recognizer.goes_on(state));
    for (int i = 0; i < 10 && recognizer.goes_on(state); ++i) {
      StateId next = Recognizer::kDead;
      for (uint64_t tries = 0; tries < 256 && next == Recognizer::kDead; ++tries)
        next = recognizer.step(state, static_cast<uint8_t>(tries * 7 + seed));
      ASSERT_NE(next, Recognizer::kDead) << "a state that goes on goes nowhere";
      state = next;
    }
  }
  EXPECT_GT(grammars, 1000);
}

}  // namespace
}  // namespace windrow::grammar
