// Patterns of ECMA-262, as RE2 is made to understand them. What is expected here is what a
// browser's engine answers with the flag `u`.
#include "schema/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace windrow::schema {
namespace {

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> found;
  std::vector<std::string_view> missing;
};

TEST(Pattern, IsSearchedAsEcma262Says) {
  const std::vector<Case> cases = {
      {"b", {"abc", "b"}, {"", "ac"}},
      {"^a$", {"a"}, {"a\n", "\na", "ab", "A"}},
      {"", {"", "x"}, {}},
      {"a|^b", {"xa", "bx"}, {"xb"}},
      {".", {"x", "\xF0\x9F\x98\x80", "\x0B", "\xC2\x85"}, {"", "\n", "\r", "\xE2\x80\xA8"}},
      {"^.$", {"\xF0\x9F\x98\x80"}, {"ab"}},
      {"^\\d+$", {"059"}, {"\xD9\xA3", "1a"}},
      {"^\\D$", {"a", "\xD9\xA3"}, {"5"}},
      {"^\\w+$", {"a_Z9"}, {"\xC3\xA9", "-"}},
      {"^\\W$", {"\xC3\xA9", "-"}, {"_"}},
      {"^\\s$",
       {" ", "\v", "\t", "\xC2\xA0", "\xEF\xBB\xBF", "\xE2\x80\xA9", "\xE3\x80\x80"},
       {"", "a", "\xC2\x85", "\xE1\xA0\x8E"}},
      {"^\\S$", {"a", "\xC2\x85"}, {"\xC2\xA0", "\n"}},
      {"^[\\s\\S]$", {"\n", "a"}, {""}},
      {"^[\\D]$", {"a"}, {"1"}},
      {"^[^\\d\\s]+$", {"abc"}, {"a1", "a b", "\xC2\xA0"}},
      {"^[a-c\\-x]$", {"a", "b", "-", "x"}, {"d"}},
      {"^[-a]$", {"-", "a"}, {"b"}},
      {"^[a-]$", {"-", "a"}, {"b"}},
      {"^[]$", {}, {"", "a"}},
      {"[]", {}, {"", "a", "]"}},
      {"^[^]$", {"a", "\n"}, {"", "ab"}},
      {"^[\\b]$", {"\b"}, {"b"}},
      {"\\bword\\b", {"a word.", "word"}, {"words"}},
      {"^[[:alpha:]$", {"a", ":", "[", "l"}, {"z", "]"}},
      {"^\\u0041\\x42\\u{43}$", {"ABC"}, {"abc"}},
      {"^\\u{1F600}$", {"\xF0\x9F\x98\x80"}, {}},
      {"^\\uD83D\\uDE00$", {"\xF0\x9F\x98\x80"}, {}},
      {"^[\\uD83D\\uDE00-\\u{1F602}]$", {"\xF0\x9F\x98\x81"}, {"\xF0\x9F\x98\x83"}},
      {"^\\cJ\\t\\n\\v\\f\\r\\0$", {std::string_view("\n\t\n\v\f\r\0", 7)}, {}},
      {"^\\/\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\$", {"/.*+?()[]{}|^$\\"}, {}},
      {"^\\-\\_\\@\\ \\\"\\'\\:$", {"-_@ \"':"}, {}},
      {"^a{2}$", {"aa"}, {"a", "aaa"}},
      {"^a{2,}$", {"aa", "aaaa"}, {"a"}},
      {"^a{1,3}$", {"a", "aaa"}, {"", "aaaa"}},
      {"^a{0}$", {""}, {"a"}},
      {"^(?:ab)+?c*?$", {"ab", "abab", "abcc"}, {"", "abac"}},
      {"^(a|b)(?<name>c)$", {"ac", "bc"}, {"ab"}},
      {"^{a}]$", {"{a}]"}, {}},
      {"^()$", {""}, {"a"}},
      {"^\\p{L}+$", {"a\xC3\xA9\xCF\x80"}, {"1", ""}},
      {"^\\p{Letter}\\P{Lu}$", {"Aa"}, {"aA"}},
      {"^\\p{Script=Greek}$", {"\xCF\x80"}, {"a"}},
      {"^\\p{sc=Latin}\\p{gc=Nd}\\p{General_Category=Punctuation}$",
       {"a5!"},
       {"\xCF\x80"
        "5!"}},
      {"^[^\\p{L}0-9]$", {"-"}, {"a", "5", "\xC3\xA9"}},
      {"^\\p{ASCII}\\P{ASCII}\\p{Any}$",
       {"a\xC3\xA9\n"},
       {"\xC3\xA9"
        "ab"}},
      {"^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$", {"192.168.0.1"}, {"192.168.0"}},
      {"\xC3\xA9+", {"caf\xC3\xA9\xC3\xA9"}, {"cafe"}},
  };
  for (const Case& one : cases) {
    const Result<Pattern> pattern = Pattern::compile(one.pattern);
    ASSERT_TRUE(pattern) << one.pattern << " " << pattern.error().message;
    for (const std::string_view text : one.found)
      EXPECT_TRUE(pattern.value().found_in(text)) << one.pattern << " in " << text;
    for (const std::string_view text : one.missing)
      EXPECT_FALSE(pattern.value().found_in(text)) << one.pattern << " in " << text;
  }
}

TEST(Pattern, WhatCannotBeSearchedIsRefusedWithThePosition) {
  const std::vector<std::pair<std::string_view, std::string_view>> refused = {
      {"a(?=b)", "lookahead is not supported; write it without (?=...) and (?!...) (character 2)"},
      {"(?!b)", "lookahead"},
      {"\\Bx", "\\B is not supported"},
      {"(?<=b)", "lookbehind"},
      {"(?<!b)", "lookbehind"},
      {"(a)\\1", "a back reference or an octal number is not supported (character 5)"},
      {"(?<a>b)\\k<a>", "a back reference"},
      {"(?i)a", "a group of this kind"},
      {"(?i:a)", "a group of this kind"},
      {"(?P<a>b)", "a group of this kind"},
      {"(?<a", "a group's name is not closed"},
      {"(?<1>a)", "a group's name is no identifier"},
      {"(a", "a \"(\" is not closed"},
      {"a)", "a \")\" closes nothing"},
      {"[a", "a \"[\" is not closed"},
      {"[a\\", "a backslash"},
      {"a\\", "a backslash stands at the end"},
      {"*a", "there is nothing to repeat"},
      {"a**", "there is nothing to repeat"},
      {"a{2}{3}", "there is nothing to repeat"},
      {"^*", "there is nothing to repeat"},
      {"\\b+", "there is nothing to repeat"},
      {"(|*)", "there is nothing to repeat"},
      {"a{3,2}", "a number of repetitions goes backwards"},
      {"a{1001}", "more than 1000 repetitions"},
      {"a{99999999999999999999}", "more than 1000 repetitions"},
      {"(a{100}){100}", "repeats too often: counted repetitions within each other"},
      {"x{,5}", "a number of repetitions is not as"},
      {"x{5", "a number of repetitions is not as"},
      {"[z-a]", "a range goes backwards"},
      {"[\\d-z]", "a class such as"},
      {"[a-\\w]", "a class such as"},
      {"\\Aa\\Z", "\\A has no meaning in ECMA-262"},
      {"\\Q", "\\Q has no meaning"},
      {"\\a", "\\a has no meaning"},
      {"\\h", "\\h has no meaning"},
      {"\\c1", "\\c has no meaning"},
      {"\\x4", "an escape lacks hexadecimal digits"},
      {"\\u12g4", "an escape lacks hexadecimal digits"},
      {"\\u{}", "an escape names no character"},
      {"\\u{110000}", "an escape names no character"},
      {"\\u{FFFFFFFFFFFFFFFFF}", "an escape names no character"},
      {"\\uD83D", "half a surrogate pair"},
      {"\\uDE00", "half a surrogate pair"},
      {"\\01", "a back reference or an octal"},
      {"\\pL", "\\p needs a property in braces"},
      {"\\p{Emoji}", "\\p{Emoji} is not supported"},
      {"\\p{Greek}", "\\p{Greek} is not supported"},
      {"\\p{Script=Nowhere}", "cannot be judged"},
      {"\xFF", "is no UTF-8"},
      {"\xED\xA0\x80", "is no UTF-8"},
  };
  for (const auto& [pattern, message] : refused) {
    const Result<Pattern> compiled = Pattern::compile(pattern);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_EQ(compiled.error().message.find(message) != std::string::npos, true)
        << pattern << ": " << compiled.error().message;
  }
  EXPECT_FALSE(Pattern::compile(std::string(100'000, 'a')));
  EXPECT_FALSE(Pattern::compile(std::string(5'000, '(') + std::string(5'000, ')')));
}

TEST(Pattern, HardPatternsTakeLinearTime) {
  const std::string text = std::string(1'000'000, 'a') + "!";
  EXPECT_FALSE(Pattern::compile("^(a+)+$").value().found_in(text));
  EXPECT_FALSE(Pattern::compile("^(a|aa)*b?$").value().found_in(text));
  EXPECT_FALSE(Pattern::compile("(x+x+)+y").value().found_in(text));
}

TEST(Pattern, EveryTextIsTranslatedOrRefused) {
  const std::vector<std::string_view> pieces = {
      "a", "\\",  "(",   ")",     "[",        "]",   "{",   "}",     "^",   "$", "|",
      "*", "+",   "?",   ".",     "-",        ",",   "1",   "d",     "w",   "u", "x",
      "p", "{L}", "(?:", "(?<n>", "\xC3\xA9", "\\d", "\\W", "{2,3}", "0041"};
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::string text;
    for (auto left = random.below(12) + 1; left > 0; --left)
      text += pieces[random.below(pieces.size())];
    const Result<std::string> translated = ecma_to_re2(text);
    if (!translated) continue;
    // What was translated RE2 takes, unless it is too large.
    const Result<Pattern> pattern = Pattern::compile(text);
    if (!pattern) {
      EXPECT_NE(pattern.error().message.find("bad repetition operator"), std::string::npos)
          << "seed " << seed << ": " << text << ": " << pattern.error().message;
      continue;
    }
    std::ignore = pattern.value().found_in("a1-\xC3\xA9{");
  }
}

}  // namespace
}  // namespace windrow::schema
