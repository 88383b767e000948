#include "grammar/distinct_lexemes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grammar/lexeme/regex.h"
#include "grammar/matcher.h"

namespace windrow::grammar {
namespace {

using Dfa = std::shared_ptr<const ByteDfa>;

Dfa dfa_of(std::string_view pattern) {
  return utf8_dfa(regex_dfa(pattern, RegexMeaning::kWhole).value());
}
Dfa strings_dfa() {
  return dfa_of(R"RE("([^"\\\x00-\x1f]|\\(["\\nrt]|u00[01][0-9a-f]))*")RE");
}
Dfa integers_dfa() {
  return dfa_of("0|-?[1-9][0-9]*");
}

// `[`, any number of items, `]`.
Part array_of(GrammarBuilder& builder, Part item, uint32_t min = 0,
              std::optional<uint32_t> max = std::nullopt, const std::string& comma = ",") {
  if (max) max = *max - 1;
  const Part more =
      builder.repeat(builder.sequence({builder.text(comma), item}), min > 0 ? min - 1 : 0, max);
  const Part some = builder.sequence({item, more});
  return builder.container(builder.sequence(
      {builder.text("["), min > 0 ? some : builder.repeat(some, 0, 1), builder.text("]")}));
}

constexpr Token kEnd = 0;

class Tried {
 public:
  Tried(GrammarBuilder& builder, Part root, std::vector<std::string> tokens = {})
      : Tried(builder.finish(root).value(), std::move(tokens)) {}

  // Whether the tokens of the mask are those that accept() takes, and which.
  std::string allowed(const std::string& text) {
    Matcher at = matcher_;
    EXPECT_TRUE(at.accept_bytes(text)) << text;
    const auto mask = at.mask();
    std::string list;
    for (Token token = 0; token < std::ssize(tokens_); ++token) {
      Matcher copy = at;
      EXPECT_EQ(copy.accept(token), mask->allows(token))
          << tokens_[static_cast<size_t>(token)] << " after " << text;
      if (mask->allows(token)) list += tokens_[static_cast<size_t>(token)] + "|";
    }
    return list;
  }

  bool accepts(const std::string& text) const {
    Matcher copy = matcher_;
    return copy.accept_bytes(text) && copy.can_end();
  }
  bool begins(const std::string& text) const {
    Matcher copy = matcher_;
    return copy.accept_bytes(text);
  }
  std::string forced(const std::string& text) const {
    Matcher copy = matcher_;
    EXPECT_TRUE(copy.accept_bytes(text));
    return copy.forced_bytes(50);
  }

  Matcher& matcher() { return matcher_; }

 private:
  Tried(std::shared_ptr<const Grammar> grammar, std::vector<std::string> tokens)
      : tokens_(std::move(tokens)), matcher_(make(std::move(grammar))) {}

  Matcher make(std::shared_ptr<const Grammar> grammar) {
    tokens_.insert(tokens_.begin(), "</s>");
    return Matcher(
        std::make_shared<CompiledGrammar>(std::move(grammar), TokenTables::make(tokens_, {kEnd})));
  }

  std::vector<std::string> tokens_;
  Matcher matcher_;
};

TEST(DistinctLexemesTest, StringsDiffer) {
  GrammarBuilder builder;
  Tried tried(builder, array_of(builder, builder.distinct_lexeme(strings_dfa())),
              {"\"", "a", "b\"", "ab\"", "\",\"", "\",\"a\"", "a\",\"a\"", "a\",\"b\"",
               "\",\"\",\"", "\",\"\",\"\"", "]", ",", "\"]", "\\u", "\\n"});
  EXPECT_TRUE(tried.accepts(R"(["a","ab","b",""])"));
  EXPECT_FALSE(tried.begins(R"(["a","ab","a")"));
  EXPECT_TRUE(tried.begins(R"(["a","ab","a)")) << "it can become another one";
  EXPECT_FALSE(tried.begins(R"(["","")"));
  EXPECT_EQ(tried.allowed(R"(["ab","b",")"), R"("|a|","|","a"|]|,|"]|\u|\n|)");
  EXPECT_EQ(tried.allowed(R"(["a","b",")"), R"("|a|ab"|","|]|,|"]|\u|\n|)");
  EXPECT_EQ(tried.allowed(R"([)"), R"("|","|]|"]|)");
}

// Only the next byte tells that a number is over.
TEST(DistinctLexemesTest, NumbersDiffer) {
  GrammarBuilder builder;
  Tried tried(
      builder, array_of(builder, builder.distinct_lexeme(integers_dfa())),
      {"1", "2", ",", "]", "1,", "2]", "12", "1,2", "1,1,", "2,2]", "0", ",1", ",1,", ",2]"});
  EXPECT_TRUE(tried.accepts("[1,12,2,-1,0]"));
  EXPECT_FALSE(tried.begins("[1,12,1,"));
  EXPECT_FALSE(tried.begins("[1,12,1]"));
  EXPECT_FALSE(tried.begins("[0,0"));
  EXPECT_TRUE(tried.begins("[1,12,1"));
  EXPECT_EQ(tried.allowed("[1,2,"), "1|2|12|0|");
  EXPECT_EQ(tried.allowed("[1,2,1"), "1|2|1,|2]|12|1,2|0|")
      << "the 1 can become 10, the 2 of 1,2 can become 20";
}

TEST(DistinctLexemesTest, TextsThatAreUsedUpDoNotBegin) {
  GrammarBuilder builder;
  const Part item = builder.choice(
      {builder.distinct_lexeme(dfa_of("true|false")), builder.distinct_lexeme(dfa_of("null"))});
  Tried tried(builder, array_of(builder, item, 1), {"true", "n", "t", ",", "]", ",t", ",true"});
  EXPECT_EQ(tried.allowed("["), "true|n|t|");
  EXPECT_EQ(tried.allowed("[true"), ",|]|") << "not ,t";
  EXPECT_EQ(tried.allowed("[true,"), "n|");
  EXPECT_EQ(tried.forced("[true,null,"), "false]") << "nothing is left after it";
  EXPECT_EQ(tried.forced("[true,f"), "alse");
  EXPECT_EQ(tried.allowed("[true,false,null"), "]|");
  EXPECT_EQ(tried.forced("[null,false"), "");
  EXPECT_TRUE(tried.accepts("[null,true,false]"));
}

// Where an end of a token leads nowhere, and no longer token shows that on the way.
TEST(DistinctLexemesTest, TokensBehindWhichAllThatMustFollowIsUsedUpAreNotInTheMask) {
  GrammarBuilder builder;
  const Part three = builder.distinct_lexeme(dfa_of("3"));
  const Part comma = builder.text(",");
  const Part twice = builder.sequence({three, comma, three});
  const Part array = builder.container(builder.sequence(
      {builder.text("["), builder.distinct_lexeme(dfa_of("[12]")), comma,
       builder.choice({twice, builder.distinct_lexeme(dfa_of("4"))}), builder.text("]")}));
  Tried tried(builder, array, {"1", "2", "3", "4"});
  EXPECT_EQ(tried.allowed("["), "1|2|");
  EXPECT_EQ(tried.allowed("[1,"), "4|");
  EXPECT_EQ(tried.forced("[1,"), "4]");
}

TEST(DistinctLexemesTest, StringsBehindWhichAllThatMustFollowIsUsedUpAreNotInTheMask) {
  GrammarBuilder builder;
  const Part name = builder.distinct_lexeme(dfa_of("\"ab?\""));
  const Part comma = builder.text(",");
  const Part more = builder.sequence({comma, name, comma, name});
  Tried tried(builder,
              builder.container(builder.sequence(
                  {builder.text("["), name,
                   builder.choice({more, builder.sequence({comma, builder.text("\"c\"")})}),
                   builder.text("]")})),
              {"a", "b", "c", "\"", ",\"", "b\"", "ab\"", "]"});
  EXPECT_EQ(tried.allowed("[\"a\",\""), "a|c|") << "b is not yet known to lead nowhere";
  EXPECT_EQ(tried.allowed("[\"a\",\"a"), "b|");
}

// Only as many texts as there are begin with some bytes.
TEST(DistinctLexemesTest, BytesAfterWhichAllTextsWereSeenAreNotAllowed) {
  GrammarBuilder builder;
  Tried tried(builder, array_of(builder, builder.distinct_lexeme(dfa_of("\"(ab|ac|ad|b|bc)\""))),
              {"\"", "a", "\"a", "b", "c", "d", "bc", "\",\"b", "c\",\"b"});
  EXPECT_EQ(tried.allowed("[\"ab\",\"ad\",\""), "a|b|bc|");
  EXPECT_EQ(tried.allowed("[\"ab\",\"ad\",\"a"), "c|c\",\"b|");
  EXPECT_EQ(tried.forced("[\"ab\",\"ad\",\"a"), "c\"");
  EXPECT_EQ(tried.allowed("[\"ab\",\"ad\",\"ac\",\""), "b|bc|");
  EXPECT_EQ(tried.allowed("[\"b\",\"bc\",\"a"), "b|c|d|") << "nothing that begins with b is left";
}

TEST(DistinctLexemesTest, EachContainerHasItsOwnTexts) {
  GrammarBuilder builder;
  const Part scalar = builder.distinct_lexeme(integers_dfa());
  const Part item = builder.rule("item");
  const Part array = array_of(builder, item);
  builder.define(item, builder.choice({scalar, array}));
  Tried tried(builder, array, {"1", "2", "[", "]", ",", "],[", "[1", "1,[1", "],1", "],2]", "[1]"});
  EXPECT_TRUE(tried.accepts("[1,[1,2,[2,1],[1]],2,[1]]"));
  EXPECT_FALSE(tried.begins("[1,[1,2,[2,1],[1]],1]"));
  EXPECT_FALSE(tried.begins("[1,[1,2,[2,1],[1]],2,[1],2,"));
  EXPECT_FALSE(tried.begins("[[2,3,[4],3]"));
  EXPECT_EQ(tried.allowed("[1,[2"), "1|2|]|,|],[|1,[1|],1|],2]|")
      << "1 is there, but can become 10";
  EXPECT_EQ(tried.allowed("[2,[2"), "1|2|]|,|],[|1,[1|],1|");
}

// Names that differ, with values of any kind.
TEST(DistinctLexemesTest, NamesDifferWithinTheirObject) {
  GrammarBuilder builder;
  const Part value = builder.rule("value");
  const Part name = builder.distinct_lexeme(strings_dfa());
  const Part member = builder.sequence({name, builder.text(":"), value});
  const Part more = builder.repeat(builder.sequence({builder.text(","), member}), 0, std::nullopt);
  const Part object = builder.container(
      builder.sequence({builder.text("{"), builder.repeat(builder.sequence({member, more}), 0, 1),
                        builder.text("}")}));
  builder.define(
      value, builder.choice({builder.lexeme(strings_dfa()), builder.lexeme(integers_dfa()), object,
                             array_of(builder, value)}));
  Tried tried(builder, object);
  EXPECT_TRUE(tried.accepts(R"({"a":"a","b":{"a":1,"b":["b","b"]},"c":["a",{"a":{"a":2}}]})"));
  EXPECT_FALSE(tried.begins(R"({"a":"a","b":{"a":1,"b":["b","b"]},"a")"));
  EXPECT_FALSE(tried.begins(R"({"b":{"a":1,"c":[{},{"x":1}],"a")"));
  EXPECT_FALSE(tried.begins(R"({"b":[{"x":1},{"x":1,"x")"));
}

// Text that is no JSON around it, with brackets of its own.
TEST(DistinctLexemesTest, BracketsInOtherTextAreNoContainers) {
  GrammarBuilder builder;
  const Part numbers = array_of(builder, builder.distinct_lexeme(integers_dfa()));
  const Part raw = builder.lexeme(dfa_of("[^<]*"));
  const Part key = builder.distinct_lexeme(dfa_of("[a-z\\[\\]{}]{1,4}"));
  const Part member = builder.sequence({builder.text("<[="), key, builder.text(">"),
                                        builder.choice({raw, numbers}), builder.text("</>")});
  const Part call = builder.container(builder.repeat(member, 0, std::nullopt));
  Tried tried(builder, builder.sequence({builder.text("<{>"), call, builder.text("<}>"),
                                         builder.text("<{>"), call, builder.text("<}>")}));
  EXPECT_TRUE(tried.accepts("<{><[=a>[1,2,1]</><[=b>[[[</><[=[>[1]</><}><{><[=a>]</><[=[>{</><}>"));
  EXPECT_FALSE(tried.begins("<{><[=a>[1,2]</><[=b>]]]</><[=[>[1]</><[=a>"));
  EXPECT_FALSE(tried.begins("<{><[=a>1</><}><{><[=]>]</><[=[>{</><[=]>"));
}

TEST(DistinctLexemesTest, WhiteSpaceIsNoPartOfAText) {
  GrammarBuilder builder;
  const Part space = builder.repeat(builder.lexeme(dfa_of("[ \\n]")), 0, 8);
  const Part number = builder.sequence({builder.distinct_lexeme(integers_dfa()), space});
  const Part more = builder.sequence({builder.text(","), space, number});
  const Part array = builder.container(
      builder.sequence({builder.text("["), space, number, builder.repeat(more, 0, std::nullopt),
                        builder.text("]")}));
  Tried tried(builder, array,
              {"1", " ", "  ", "1 ", "\n", ",", "]", " ]", "]\n", " ,", ", 1", ", 1 "});
  EXPECT_TRUE(tried.accepts("[ 1 , 2\n,12 ]"));
  EXPECT_FALSE(tried.begins("[1,2,1 "));
  EXPECT_FALSE(tried.begins("[ 1 ,2 , 2\n"));
  EXPECT_EQ(tried.allowed("[1 , 2 , 1"), "1|1 |");
  EXPECT_EQ(tried.allowed("[2 , 1"), "1| |  |1 |\n|,|]| ]|]\n| ,|, 1|");
}

// A reading in which texts need not differ goes on where another one ends.
TEST(DistinctLexemesTest, ReadingsInWhichTextsMayBeEqualSurvive) {
  GrammarBuilder builder;
  const Dfa numbers = integers_dfa();
  const Part unique = array_of(builder, builder.distinct_lexeme(numbers));
  const Part pair = array_of(builder, builder.lexeme(numbers), 2, 2);
  Tried tried(builder, builder.choice({unique, pair}), {"1", "2", ",", "]", "1,", "1]", ",3"});
  EXPECT_TRUE(tried.accepts("[1,1]"));
  EXPECT_TRUE(tried.accepts("[1,2,3]"));
  EXPECT_FALSE(tried.begins("[1,1,"));
  EXPECT_EQ(tried.allowed("[1,1"), "1|2|]|1,|1]|") << "1 was there: it can be a pair, or go on";
  EXPECT_EQ(tried.allowed("[2,1"), "1|2|,|]|1,|1]|,3|");
}

// Each item allowed, behind a first one from another list.
TEST(DistinctLexemesTest, DifferentLexemesOfAContainerAreCompared) {
  GrammarBuilder builder;
  const Part first = builder.distinct_lexeme(dfa_of("1|x"));
  const Part second = builder.distinct_lexeme(dfa_of("[12]"));
  Tried tried(builder, builder.container(builder.sequence(
                           {builder.text("["), first, builder.text(","), second,
                            builder.repeat(builder.sequence({builder.text(","), second}), 0, 1),
                            builder.text("]")})));
  EXPECT_EQ(tried.forced("[1,"), "2]");
  EXPECT_TRUE(tried.accepts("[x,1,2]"));
  EXPECT_FALSE(tried.begins("[x,1,1"));
  EXPECT_FALSE(tried.begins("[1,2,"));
}

// What the grammar does not promise is given up, never accepted: it is unknown here in which
// container the second number is.
TEST(DistinctLexemesTest, ReadingsThatDisagreeAboutContainersAreGivenUp) {
  GrammarBuilder builder;
  const Part number = builder.distinct_lexeme(dfa_of("[0-9]"));
  const Part rest = builder.sequence({number, builder.text("]")});
  Tried tried(builder,
              builder.choice({builder.sequence({builder.text("[["), builder.container(rest)}),
                              builder.sequence({builder.text("["), builder.text("["), rest})}));
  EXPECT_FALSE(tried.matcher().accept_bytes("[[1"));
  EXPECT_TRUE(tried.matcher().too_complex());
  EXPECT_EQ(tried.matcher().mask()->count(), 0);
}

TEST(DistinctLexemesTest, ContainersCostNothingWithoutDistinctLexemes) {
  const auto tables = TokenTables::make(std::vector<std::string>{"a"}, {});
  const auto bytes = [&](bool contained) {
    GrammarBuilder builder;
    Part array = builder.lexeme(integers_dfa());
    for (int i = 0; i < 5; ++i) {
      array = builder.sequence({builder.text("["), array, builder.text("]")});
      if (contained) array = builder.container(array);
    }
    return CompiledGrammar(builder.finish(array).value(), tables).memory_bytes();
  };
  EXPECT_EQ(bytes(true), bytes(false));
}

TEST(DistinctLexemesTest, ManyItemsAndDeepContainers) {
  GrammarBuilder builder;
  const Part item = builder.rule("item");
  const Part array = array_of(builder, item);
  builder.define(item, builder.choice({builder.distinct_lexeme(strings_dfa()), array}));
  Tried tried(builder, array, {"\"", "1", "\",\""});
  Matcher& matcher = tried.matcher();
  ASSERT_TRUE(matcher.accept_bytes("["));
  constexpr int kItems = 3000;
  for (int i = 0; i < kItems; ++i) {
    ASSERT_TRUE(matcher.accept_bytes(fmt::format("\"item {}", i * 7 % kItems)));
    ASSERT_TRUE(matcher.mask()->allows(1));
    ASSERT_TRUE(matcher.accept_bytes("\","));
    Matcher fork = matcher;
    ASSERT_FALSE(fork.accept_bytes(fmt::format("\"item {}\"", i * 7 % kItems)));
  }
  matcher.rollback(2 * (kItems - 10));
  EXPECT_TRUE(matcher.accept_bytes("\"item 70\"")) << "taken back";
  EXPECT_FALSE(matcher.accept_bytes(",\"item 63\"")) << "not taken back";
  ASSERT_TRUE(matcher.accept_bytes(","));
  // As many containers with texts of their own, one within the other, as are followed.
  int depth = 0;
  while (depth < 100'000 && matcher.accept_bytes("[\"a\","))
    ++depth;
  EXPECT_GT(depth, 1000);
  EXPECT_LT(depth, 100'000);
  EXPECT_TRUE(matcher.too_complex());
}

}  // namespace
}  // namespace windrow::grammar
