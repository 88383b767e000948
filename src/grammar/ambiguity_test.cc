// Grammars that can be read in very many ways: they are exact while that can be done, and given up
// by their row where it cannot, with bounded work either way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grammar/gbnf.h"
#include "grammar/matcher.h"

namespace windrow::grammar {
namespace {

Matcher matcher_of(const std::string& gbnf) {
  const auto grammar = parse_gbnf(gbnf);
  EXPECT_TRUE(grammar.has_value()) << (grammar ? "" : grammar.error().message);
  const std::vector<std::string> tokens = {"</s>", "a", "b", "d", "x", "y", "xx", "aa"};
  return Matcher(std::make_shared<CompiledGrammar>(*grammar, TokenTables::make(tokens, {0})));
}

constexpr Token kEnd = 0;
constexpr Token kA = 1;
constexpr Token kX = 4;

// Each rule in the next, twice or as `body` says: 2^30 ways to the innermost one.
std::string doubling(const std::string& body, const std::string& last) {
  std::string gbnf = "root ::= a0\n";
  for (int i = 0; i < 30; ++i)
    gbnf += fmt::format("a{} ::= {}\n", i, fmt::format(fmt::runtime(body), i + 1));
  return gbnf + "a30 ::= " + last + "\n";
}

TEST(Ambiguity, PartsThatMayBeEmptyDoNotDouble) {
  Matcher matcher = matcher_of(doubling("a{0} a{0}", "\"x\"?"));
  for (int i = 0; i < 100; ++i) {
    const auto mask = matcher.mask();
    ASSERT_TRUE(mask->allows(kX) && mask->allows(kEnd)) << i;
    ASSERT_FALSE(mask->allows(kA));
    ASSERT_TRUE(matcher.accept(kX));
  }
  EXPECT_FALSE(matcher.too_complex());
}

TEST(Ambiguity, AlternativesThatBeginAlikeDoNotDouble) {
  Matcher matcher = matcher_of(doubling("a{0} a{0} | a{0}", "\"x\" | \"y\""));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(matcher.mask()->allows(kX) && matcher.accept(kX)) << i;
  EXPECT_TRUE(matcher.can_end());
  EXPECT_FALSE(matcher.too_complex());
}

// Exactly as many as there can be: 2^5.
TEST(Ambiguity, WhatIsUnitedIsStillCounted) {
  Matcher matcher =
      matcher_of("root ::= a a\na ::= b b\nb ::= c c\nc ::= d d\nd ::= e e\ne ::= \"x\"?\n");
  for (int i = 0; i < 32; ++i)
    ASSERT_TRUE(matcher.accept(kX)) << i;
  EXPECT_FALSE(matcher.accept(kX));
  EXPECT_TRUE(matcher.must_end());
}

// Counters within counters: every way to divide the text is a reading of its own.
TEST(Ambiguity, ARowIsGivenUpWhereReadingsHaveNoEnd) {
  Matcher matcher = matcher_of("root ::= (((\"a\" | \"aa\"){0,1000}){0,1000}){0,1000} \"d\"\n");
  size_t tokens = 0;
  while (tokens < 2000 && matcher.accept(kA))
    ++tokens;
  EXPECT_LT(tokens, 2000U);
  EXPECT_TRUE(matcher.too_complex());
  EXPECT_EQ(matcher.mask()->count(), 0);
  EXPECT_FALSE(matcher.accept(kA));
  EXPECT_EQ(matcher.forced_bytes(10), "");
  matcher.rollback(tokens);
  EXPECT_FALSE(matcher.too_complex());
  EXPECT_TRUE(matcher.mask()->allows(kA));
}

}  // namespace
}  // namespace windrow::grammar
