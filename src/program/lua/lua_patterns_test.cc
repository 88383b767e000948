// What matches, and what is said of malformed patterns, is compared with Lua's own string.find.
#include "program/lua/lua_patterns.h"

#include <gtest/gtest.h>

#include <array>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"

namespace windrow::program {
namespace {

constexpr int64_t kSteps = 2'000'000;

std::string repeated(std::string_view text, size_t count) {
  std::string whole;
  for (size_t i = 0; i < count; ++i)
    whole += text;
  return whole;
}

std::string to_text(std::string_view subject, const PatternCapture& capture) {
  if (capture.kind == PatternCapture::Kind::kPosition)
    return "[" + std::to_string(capture.begin + 1) + "]";
  return "[" + std::string(subject.substr(capture.begin, capture.end - capture.begin)) + "]";
}

// As string.find, which looks for a pattern without specials as a text. Of the first match: its
// begin and end as Lua counts, and its captures; or the fault.
std::string found_by_matcher(std::string_view subject, std::string_view pattern) {
  if (!has_specials(pattern)) {
    const size_t place = subject.find(pattern);
    if (place == std::string_view::npos) return "nothing";
    return std::to_string(place + 1) + "-" + std::to_string(place + pattern.size());
  }
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  PatternMatcher matcher(subject, pattern, kSteps);
  for (size_t begin = 0; begin <= (is_anchored ? 0 : subject.size()); ++begin) {
    const std::optional<size_t> end = matcher.match_at(begin);
    if (!matcher.fault().empty()) return matcher.fault();
    if (matcher.is_exhausted()) return "exhausted";
    if (!end) continue;
    std::string found = std::to_string(begin + 1) + "-" + std::to_string(*end);
    for (const PatternCapture& capture : matcher.captures()) {
      if (capture.kind == PatternCapture::Kind::kUnfinished) return "unfinished capture";
      found += to_text(subject, capture);
    }
    return found;
  }
  return "nothing";
}

// Lua with its own library.
class LuaFind {
 public:
  LuaFind() : state_(luaL_newstate(), lua_close) { luaL_openlibs(state_.get()); }

  std::string operator()(std::string_view subject, std::string_view pattern) {
    lua_State* state = state_.get();
    lua_settop(state, 0);
    lua_getglobal(state, "string");
    lua_getfield(state, 1, "find");
    lua_pushlstring(state, subject.data(), subject.size());
    lua_pushlstring(state, pattern.data(), pattern.size());
    if (lua_pcall(state, 2, LUA_MULTRET, 0) != LUA_OK) return text(-1);
    if (lua_isnil(state, 2)) return "nothing";
    std::string found = text(2) + "-" + text(3);
    for (int i = 4; i <= lua_gettop(state); ++i)
      found += "[" + text(i) + "]";
    return found;
  }

 private:
  std::string text(int index) {
    size_t size = 0;
    const char* bytes = lua_tolstring(state_.get(), index, &size);
    return {bytes, size};
  }

  std::unique_ptr<lua_State, void (*)(lua_State*)> state_;
};

struct Case {
  std::string_view subject;
  std::string_view pattern;
};

TEST(LuaPatterns, HardCasesAreAsInLua) {
  using std::string_view_literals::operator""sv;
  const std::string deep = repeated("a?", 250);
  const std::string nested = repeated("(", 32) + "a" + repeated(")", 32);
  const std::string too_nested = repeated("(", 33) + "a" + repeated(")", 33);
  const std::array<Case, 66> cases{{
      {"", ""},
      {"alo", ""},
      {"alo", "$"},
      {"alo$", "$$"},
      {"a$o", "a$o"},
      {"alo", "^"},
      {"a^o", "a^o"},
      {"aaab", "a*"},
      {"aaa", "^.*$"},
      {"aaa", "b*"},
      {"aaa", "ab*a"},
      {"aba", "ab*a"},
      {"aaab", "a+"},
      {"aaab", "^.+$"},
      {"aaa", "b+"},
      {"aaab", "a-"},
      {"aaa", "^.-$"},
      {"aabaaabaaabaaaba", "b.-b"},
      {"alo xo", ".o$"},
      {" \n isto \xe9 assim", "%S%S*"},
      {" \n isto \xe9 assim", "%S*$"},
      {"um caracter ? extra", "[^%sa-z]"},
      {"", "a?"},
      {"\xe1", "\xe1?"},
      {"\xe1"
       "bl",
       "\xe1?b?l?"},
      {"aa", "^aa?a?a"},
      {"]]]\xe1"
       "b",
       "[^]]"},
      {"0alo alo", "%x*"},
      {"alo alo", "%C+"},
      {"alo xyzK", "(%w+)K"},
      {"254 K", "(%d*)K"},
      {"alo ", "(%w*)$"},
      {"alo wo", "(%w+)$"},
      {"alo alx 123 b\0o b\0o"sv, "(..*) %1"sv},
      {"\xe2lo alo", "^(((.).).* (%w*))$"},
      {"0123456789", "(.+(.?)())"},
      {"abc\0efg\0\0xyz"sv, "[\0-z]*"sv},
      {"ab\0\1\2c"sv, "[\0-\2]+"sv},
      {"ab\0\1\2c"sv, "[\0-\0]+"sv},
      {"b$a", "$\0?"sv},
      {"abc\0\0\0"sv, "%\0+"sv},
      {"abc\0\0\0"sv, "%\0%\0?"sv},
      {"abc\0def"sv, "%z"sv},
      {" alo aalo allo", "%f[%S].-%f[%s].-%f[%S]"},
      {"aba", "%f[a%z]"},
      {"aba", "%f[%z]"},
      {"aba", "%f[%l%z]"},
      {"THE (quick) fox", "%f[%a]%a+%f[^%a]"},
      {"THE (quick) fox", "%f"},
      {"x", "%f%w"},
      {"a(b(c)d)e", "%b()"},
      {"a(b(c)d", "%b()"},
      {"a(b(c)d", "%b("},
      {"a", "%b"},
      {"axxb", "%bxx"},
      {"alo", "(%0)"},
      {"alo", "(%1)"},
      {"alo", "a(%l"},
      {"alo", "a)"},
      {"alo", "[a"},
      {"alo", "[]"},
      {"alo", "[^]"},
      {"alo", "[a%]"},
      {"alo", "[a%"},
      {"alo", "%"},
      {"alo", "()(%1)"},
  }};
  LuaFind find;
  for (const auto& [subject, pattern] : cases)
    EXPECT_EQ(found_by_matcher(subject, pattern), find(subject, pattern)) << pattern;
  for (const std::string& pattern :
       {deep, nested, too_nested, repeated("()", 33), repeated("(.)", 32) + "%9"})
    EXPECT_EQ(found_by_matcher("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", pattern),
              find("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", pattern))
        << pattern;
}

// Of pieces that make patterns, valid and malformed, or of any bytes.
std::string random_pattern(Random& random) {
  constexpr std::array<std::string_view, 51> kPieces = {
      "a",    "b",     "c",     "1",     " ",    ".",    "%a",     "%d",     "%s", "%w", "%p",
      "%x",   "%A",    "%S",    "%g",    "%c",   "%u",   "%l",     "%W",     "%%", "%.", "[ab]",
      "[^a]", "[a-c]", "[%a_]", "[]]",   "[^]]", "[a-]", "[%-x]",  "[^%s]",  "(",  "(",  ")",
      ")",    "()",    "%1",    "%2",    "%b()", "%bab", "%f[%w]", "%f[^a]", "^",  "$",  "%",
      "[",    "]",     "-",     "[c-a]", "%z",   "%D",   "%f"};
  std::string pattern;
  const uint64_t pieces = random.below(9);
  for (uint64_t i = 0; i < pieces; ++i) {
    if (random.chance(0.03)) {
      pattern += static_cast<char>(random.below(256));
    } else {
      pattern += kPieces[random.below(kPieces.size())];
    }
    if (random.chance(0.35)) pattern += "*+-?"[random.below(4)];
  }
  return pattern;
}

std::string random_subject(Random& random) {
  constexpr std::string_view kCharacters = "aaabbbcc11 ()[]%-$^_A.\xc3\xa9";
  std::string subject;
  const uint64_t size = random.below(15);
  for (uint64_t i = 0; i < size; ++i)
    subject += random.chance(0.05) ? static_cast<char>(random.below(256))
                                   : kCharacters[random.below(kCharacters.size())];
  return subject;
}

TEST(LuaPatterns, RandomPatternsAreAsInLua) {
  constexpr uint64_t kSeed = 240601;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  LuaFind find;
  int matches = 0;
  int faults = 0;
  constexpr int kCases = 40'000;
  for (int i = 0; i < kCases; ++i) {
    const std::string pattern = random_pattern(random);
    const std::string subject = random_subject(random);
    const std::string expected = find(subject, pattern);
    ASSERT_EQ(found_by_matcher(subject, pattern), expected) << subject << "\n" << pattern;
    if (expected == "nothing") continue;
    ++(expected.front() >= '0' && expected.front() <= '9' ? matches : faults);
  }
  EXPECT_GT(matches, kCases / 5);
  EXPECT_GT(faults, kCases / 10);
}

TEST(LuaPatterns, RandomBytesAreAsInLua) {
  constexpr uint64_t kSeed = 240602;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  LuaFind find;
  for (int i = 0; i < 20'000; ++i) {
    std::array<std::string, 2> texts;
    for (std::string& text : texts) {
      const uint64_t size = random.below(12);
      for (uint64_t j = 0; j < size; ++j)
        text += random.chance(0.5) ? "%[]()-*+?^$.bf1"[random.below(15)]
                                   : static_cast<char>(random.below(256));
    }
    ASSERT_EQ(found_by_matcher(texts[0], texts[1]), find(texts[0], texts[1])) << texts[1];
  }
}

TEST(LuaPatterns, SpecialsAreThoseOfLua) {
  for (const char special : std::string_view("^$*+?.([%-"))
    EXPECT_TRUE(has_specials(std::string("a") + special)) << special;
  EXPECT_FALSE(has_specials("a)]{}!\"#&',/:;<=>@\\_`|~ b"));
}

// The steps until a matcher gave up or had looked everywhere.
int64_t steps_of(std::string_view subject, std::string_view pattern, bool* is_exhausted) {
  PatternMatcher matcher(subject, pattern, kSteps);
  for (size_t begin = 0; begin <= subject.size() && !matcher.is_exhausted(); ++begin)
    EXPECT_EQ(matcher.match_at(begin), std::nullopt) << pattern.substr(0, 40);
  EXPECT_TRUE(matcher.fault().empty());
  *is_exhausted = matcher.is_exhausted();
  return kSteps - matcher.steps_left();
}

TEST(LuaPatterns, ALongMatchEndsWithItsBudget) {
  const std::string many = repeated("a", 30) + "b";
  const std::string long_text = repeated("a", 100'000);
  const std::string open_ones = repeated("(", 100'000);
  const std::string halves = repeated("a", 50'000);
  const std::array<std::pair<std::string, std::string>, 9> cases{{
      {many, repeated("(.-)", 20) + "c"},
      {many, repeated("a*", 30) + "c"},
      {many, repeated("a?", 30) + repeated("a", 29) + "c"},
      {many, repeated(".-", 40) + "%d"},
      {long_text, "a*b"},
      {long_text, ".-.-.-b"},
      {open_ones, "%b()"},
      {long_text, "(" + halves + "a*)%1b"},
      {long_text, "[" + repeated("bc", 50'000) + "]*d"},
  }};
  for (const auto& [subject, pattern] : cases) {
    bool is_exhausted = false;
    const int64_t steps = steps_of(subject, pattern, &is_exhausted);
    EXPECT_TRUE(is_exhausted) << pattern.substr(0, 40);
    // One character is compared at once with the whole of a set.
    EXPECT_LE(steps, kSteps + 200'002) << pattern.substr(0, 40);
  }
}

TEST(LuaPatterns, AnExhaustedMatcherFindsNothingMore) {
  PatternMatcher matcher("aaaaab", "a-b", 4);
  EXPECT_EQ(matcher.match_at(0), std::nullopt);
  EXPECT_TRUE(matcher.is_exhausted());
  EXPECT_EQ(matcher.match_at(4), std::nullopt);
  EXPECT_EQ(matcher.fault(), "");
}

TEST(LuaPatterns, AFaultIsSaidOnceAndStays) {
  PatternMatcher matcher("ab", "a%", kSteps);
  EXPECT_EQ(matcher.match_at(1), std::nullopt);
  EXPECT_EQ(matcher.fault(), "");  // the % was not read
  EXPECT_EQ(matcher.match_at(0), std::nullopt);
  EXPECT_EQ(matcher.fault(), "malformed pattern (ends with '%')");
  EXPECT_EQ(matcher.match_at(1), std::nullopt);
  EXPECT_FALSE(matcher.is_exhausted());
}

}  // namespace
}  // namespace windrow::program
