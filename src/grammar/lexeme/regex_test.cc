// Every expression is written down from a tree of the test's own and matched by trying everything.
#include "grammar/lexeme/regex.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "base/random.h"
#include "base/utf8.h"
#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

struct Tree {
  enum class Kind { kLetter, kClass, kStart, kEnd, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kLetter;
  char32_t letter = U'a';
  bool inverted = false;
  std::set<char32_t> members;
  std::vector<Tree> parts;
  int min = 0;
  int max = -1;  // any more
};

constexpr std::u32string_view kTestLetters = U"abé";

class TreeMaker {
 public:
  explicit TreeMaker(Random& random) : random_(random) {}

  Tree make(int depth) {
    Tree tree;
    const uint64_t kind = random_.below(depth > 0 ? 12 : 5);
    if (kind < 3) {
      tree.letter = letter();
    } else if (kind == 3) {
      tree.kind = Tree::Kind::kClass;
      tree.inverted = random_.chance(0.5);
      for (uint64_t i = random_.below(3); i > 0; --i)
        tree.members.insert(letter());
    } else if (kind == 4) {
      tree.kind = random_.chance(0.5) ? Tree::Kind::kStart : Tree::Kind::kEnd;
    } else if (kind < 8) {
      tree.kind = Tree::Kind::kSequence;
      add_parts(tree, depth);
    } else if (kind < 10) {
      tree.kind = Tree::Kind::kChoice;
      tree.parts.push_back(make(depth - 1));
      add_parts(tree, depth);
    } else {
      tree.kind = Tree::Kind::kRepeat;
      tree.parts.push_back(make(depth - 1));
      tree.min = static_cast<int>(random_.below(3));
      if (random_.chance(0.5)) tree.max = tree.min + static_cast<int>(random_.below(3));
    }
    return tree;
  }

 private:
  char32_t letter() { return kTestLetters[random_.below(kTestLetters.size())]; }

  void add_parts(Tree& tree, int depth) {
    for (uint64_t i = random_.below(4); i > 0; --i)
      tree.parts.push_back(make(depth - 1));
  }

  Random& random_;
};

std::string written(const Tree& tree, Random& random) {
  std::string text;
  switch (tree.kind) {
    case Tree::Kind::kLetter:
      if (random.chance(0.2)) return fmt::format("\\u{:04x}", static_cast<uint32_t>(tree.letter));
      append_utf8(tree.letter, text);
      return text;
    case Tree::Kind::kClass:
      text = tree.inverted ? "[^" : "[";
      for (const char32_t letter : tree.members)
        append_utf8(letter, text);
      return text + "]";
    case Tree::Kind::kStart:
      return "^";
    case Tree::Kind::kEnd:
      return "$";
    case Tree::Kind::kSequence:
      for (const Tree& part : tree.parts)
        text += written(part, random);
      return text.empty() || random.chance(0.2) ? "(?:" + text + ")" : text;
    case Tree::Kind::kChoice:
      for (const Tree& part : tree.parts)
        text += (text.empty() ? "(" : "|") + written(part, random);
      return text + ")";
    case Tree::Kind::kRepeat:
      break;
  }
  text = "(?:" + written(tree.parts[0], random) + ")";
  if (tree.min == 0 && tree.max == -1 && random.chance(0.8)) {
    text += "*";
  } else if (tree.min == 1 && tree.max == -1 && random.chance(0.8)) {
    text += "+";
  } else if (tree.min == 0 && tree.max == 1 && random.chance(0.8)) {
    text += "?";
  } else if (tree.min == tree.max) {
    text += fmt::format("{{{}}}", tree.min);
  } else {
    text += fmt::format("{{{},{}}}", tree.min, tree.max == -1 ? "" : std::to_string(tree.max));
  }
  if (random.chance(0.3)) text += "?";
  return text;
}

// All places where `tree`, begun at `from`, can be done.
std::set<size_t> ends(const Tree& tree, std::u32string_view text, size_t from) {
  switch (tree.kind) {
    case Tree::Kind::kLetter:
      if (from < text.size() && text[from] == tree.letter) return {from + 1};
      return {};
    case Tree::Kind::kClass:
      if (from < text.size() && tree.members.contains(text[from]) != tree.inverted)
        return {from + 1};
      return {};
    case Tree::Kind::kStart:
      return from == 0 ? std::set<size_t>{0} : std::set<size_t>{};
    case Tree::Kind::kEnd:
      return from == text.size() ? std::set<size_t>{from} : std::set<size_t>{};
    case Tree::Kind::kChoice: {
      std::set<size_t> all;
      for (const Tree& part : tree.parts)
        all.merge(ends(part, text, from));
      return all;
    }
    case Tree::Kind::kSequence:
    case Tree::Kind::kRepeat:
      break;
  }
  const auto step = [&text](const Tree& part, const std::set<size_t>& at) {
    std::set<size_t> next;
    for (const size_t place : at)
      next.merge(ends(part, text, place));
    return next;
  };
  std::set<size_t> at{from};
  if (tree.kind == Tree::Kind::kSequence) {
    for (const Tree& part : tree.parts)
      at = step(part, at);
    return at;
  }
  for (int i = 0; i < tree.min; ++i)
    at = step(tree.parts[0], at);
  std::set<size_t> all = at;
  // More rounds than there are characters find nothing new.
  const int more = tree.max == -1 ? static_cast<int>(text.size()) + 1 : tree.max - tree.min;
  for (int i = 0; i < more; ++i) {
    at = step(tree.parts[0], at);
    all.insert(at.begin(), at.end());
  }
  return all;
}

bool found(const Tree& tree, std::u32string_view text) {
  for (size_t from = 0; from <= text.size(); ++from) {
    if (!ends(tree, text, from).empty()) return true;
  }
  return false;
}

std::vector<std::u32string> short_texts() {
  std::vector<std::u32string> texts{U""};
  for (size_t i = 0; texts[i].size() < 4; ++i) {
    for (const char32_t letter : kTestLetters)
      texts.push_back(texts[i] + letter);
  }
  texts.push_back(U"a\u20acb");
  texts.push_back(U"\U0001F600");
  return texts;
}

TEST(Regex, MatchesWhatTryingEverythingMatches) {
  constexpr uint64_t kSeed = 11;
  Random random(kSeed);
  TreeMaker maker(random);
  const auto texts = short_texts();
  int matches = 0;
  int misses = 0;
  for (int round = 0; round < 1500; ++round) {
    const Tree tree = maker.make(4);
    const std::string pattern = written(tree, random);
    // A repetition of ^ or $ alone stands in a group here, which is allowed.
    const auto search = regex_dfa(pattern, RegexMeaning::kSearch);
    ASSERT_TRUE(search) << "seed " << kSeed << " round " << round << " " << pattern << ": "
                        << search.error().message;
    const auto whole = regex_dfa(pattern, RegexMeaning::kWhole);
    ASSERT_TRUE(whole) << pattern << ": " << whole.error().message;
    for (const std::u32string& text : texts) {
      std::string utf8;
      for (const char32_t letter : text)
        append_utf8(letter, utf8);
      const bool wanted = found(tree, text);
      (wanted ? matches : misses)++;
      ASSERT_EQ(search->contains(utf8), wanted)
          << "seed " << kSeed << " round " << round << " " << pattern << " on " << utf8;
      ASSERT_EQ(whole->contains(utf8), ends(tree, text, 0).contains(text.size()))
          << "seed " << kSeed << " round " << round << " " << pattern << " on " << utf8;
    }
  }
  EXPECT_GT(matches, 10'000);
  EXPECT_GT(misses, 10'000);
}

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> good;
  std::vector<std::string_view> bad;
};

TEST(Regex, MeansWhatEcmaMeans) {
  const std::vector<Case> cases = {
      {"^.$", {"a", "é", "\U0001F600", "\t", "\u0085"}, {"\n", "\r", "\u2028", "\u2029", "", "ab"}},
      {"^\\d$", {"0", "9"}, {"a", "\u0660", ""}},
      {"^\\D$", {"a", "\u0660"}, {"0"}},
      {"^\\w$", {"a", "Z", "_", "5"}, {"é", "-", " "}},
      {"^\\W$", {"é", "-"}, {"a", "_"}},
      {"^\\s$",
       {" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\ufeff", "\u1680", "\u2000", "\u200a",
        "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"},
       {"\u200b", "\u0085", "\u180e", "a", "\x1f"}},
      {"^\\S$", {"\u200b", "\u180e", "a"}, {"\u3000", "\ufeff"}},
      {"^[^a]$", {"b", "\n", "é"}, {"a", ""}},
      {"^[^]$", {"\n", "a"}, {""}},
      {"[]", {}, {"", "a"}},
      {"^[\\b\\-\\]^]$", {"\b", "-", "]", "^"}, {"b", "\\"}},
      {"^[a-c-e]$", {"a", "b", "-", "e"}, {"d"}},
      {"^[\\w-.]$", {"a", "-", "."}, {",", "/"}},
      {"^[+--]$", {"+", ",", "-"}, {".", "*"}},
      {"^[[:alpha:]]$", {":]", "a]", "[]"}, {"a", "b]"}},
      {"^[\\u{1F600}-\\u{1F64F}é]$", {"\U0001F600", "\U0001F610", "é"}, {"\U0001F650", "a"}},
      {"^\\ud83d\\ude00$", {"\U0001F600"}, {""}},
      {"^\\x41\\u0042\\u{43}\\cA\\0$", {std::string_view("ABC\x01\0", 5)}, {"ABC"}},
      {"^\\cC$", {"\x03"}, {"\\cC", "C"}},
      {"^\\t\\n\\v\\f\\r$", {"\t\n\v\f\r"}, {"tnvfr"}},
      {"^\\.\\/\\-\\\\\\\"\\'\\@\\_\\#\\ \\&$", {"./-\\\"'@_# &"}, {"./-\\\"'@_#"}},
      {"a{,x}b{}{c}]}", {"a{,x}b{}{c}]}"}, {"a"}},
      {"^a{2}$", {"aa"}, {"a", "aaa"}},
      {"^a{2,}?$", {"aa", "aaaa"}, {"a"}},
      {"^a{1,2}b{0}$", {"a", "aa"}, {"ab", "", "aaa"}},
      {"^(a|b)$", {"a", "b"}, {"ab", ""}},
      {"(^a|b$)", {"a", "ax", "xb", "axb"}, {"xa", "bx", ""}},
      {"^^a", {"a", "ab"}, {"ba"}},
      {"a^", {}, {"a", "", "aa"}},
      {"$a", {}, {"a", ""}},
      {"$^", {""}, {"a"}},
      {"^$", {""}, {"a"}},
      {"", {"", "a"}, {}},
      {"x*", {"", "a"}, {}},
      {"^(?<year>\\d{4})(?:-(?<month>\\d\\d))?$", {"2024", "2024-05"}, {"2024-", "24"}},
      {"^(?!.*--)[a-z-]+$", {"a-b", "-"}, {"a--b", "", "a--"}},
      {"^(?=.*\\d)(?=.*[a-z]).{3,5}$", {"a1b", "1234z"}, {"abc", "123", "a1", "a12345"}},
      {"^(?!foo$|bar$)\\w+$", {"food", "fo", "bars"}, {"foo", "bar"}},
      {"^(?!a)b|^(?=c)c$|d", {"b", "c", "xd", "bx"}, {"a", "cx", ""}},
      {"^(?!)$", {}, {""}},
  };
  for (const Case& c : cases) {
    const auto dfa = regex_dfa(c.pattern, RegexMeaning::kSearch);
    ASSERT_TRUE(dfa) << c.pattern << ": " << dfa.error().message;
    for (const std::string_view text : c.good)
      EXPECT_TRUE(dfa->contains(text)) << c.pattern << " on " << text;
    for (const std::string_view text : c.bad)
      EXPECT_FALSE(dfa->contains(text)) << c.pattern << " on " << text;
  }
}

TEST(Regex, WholeHasAnchorsOfItsOwn) {
  const CharDfa dfa = regex_dfa("a|bc", RegexMeaning::kWhole).value();
  EXPECT_TRUE(dfa.contains("a"));
  EXPECT_TRUE(dfa.contains("bc"));
  EXPECT_FALSE(dfa.contains("ab"));
  EXPECT_EQ(regex_dfa("(?=a..)\\w*", RegexMeaning::kWhole).value(),
            regex_dfa("^a\\w\\w+$|^a\\w\\w$", RegexMeaning::kSearch).value());
  EXPECT_EQ(regex_dfa(".*", RegexMeaning::kWhole).value(),
            regex_dfa("^.*$", RegexMeaning::kSearch).value());
}

TEST(Regex, EqualTextsAreEqualAutomata) {
  EXPECT_EQ(regex_dfa("a+", RegexMeaning::kSearch).value(),
            regex_dfa("^[^]*a", RegexMeaning::kSearch).value());
  EXPECT_EQ(regex_dfa("", RegexMeaning::kSearch).value(), CharDfa::any_text());
  EXPECT_EQ(regex_dfa("^(?:[^]{3}){1,2}$", RegexMeaning::kSearch)
                .value()
                .unite(CharDfa::length(4, 5).value())
                .value(),
            CharDfa::length(3, 6).value());
}

TEST(Regex, RefusesWithThePlaceAndWhatToDo) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"a\\b",
       "character 2 of the pattern: \\b, a word boundary, cannot be enforced; say with "
       "classes what stands beside it"},
      {"é(a)\\1",
       "character 5 of the pattern: a back reference cannot be enforced; write the text "
       "or its pattern again"},
      {"(?<n>a)\\k<n>",
       "character 8 of the pattern: \\k, a back reference, cannot be enforced; "
       "write the text or its pattern"},
      {"a(?=b)",
       "character 2 of the pattern: a look-ahead can be enforced at the very beginning "
       "only, behind ^; say what follows as part of the pattern"},
      {"(?=b)b",
       "character 1 of the pattern: a look-ahead can be enforced at the very beginning "
       "only, behind ^; say what follows as part of the pattern"},
      {"(?<=a)b",
       "character 1 of the pattern: a look-behind cannot be enforced; say what stands "
       "there as part of the pattern"},
      {"\\p{L}",
       "character 1 of the pattern: \\p{...}, a property of Unicode, cannot be enforced; "
       "write the ranges of characters in [...]"},
      {"\\a",
       "character 1 of the pattern: \\a is no escape of ECMA-262; for the letter itself "
       "write it without the backslash"},
      {"a**",
       "character 3 of the pattern: nothing stands here to be repeated; write \\* for the "
       "sign"},
      {"^*",
       "character 2 of the pattern: an anchor or a look-ahead cannot be repeated; leave this "
       "out"},
      {"(a", "character 1 of the pattern: this group is not closed; write \\( for the sign"},
      {"a)", "character 2 of the pattern: this ) closes no group; write \\) for the sign"},
      {"a[b", "character 2 of the pattern: this [ is not closed; write \\[ for the sign"},
      {"[b-a]",
       "character 2 of the pattern: the range's first character is behind its last; swap "
       "them"},
      {"a{3,2}",
       "character 2 of the pattern: {3,2}: the first number is the larger one; write the "
       "smaller first"},
      {"a{,2}", "character 2 of the pattern: ECMA-262 has no {,2}; write {0,2}"},
      {"a{99999999999}", "character 2 of the pattern: at most 1000000 repetitions"},
      {"(?i)a",
       "character 1 of the pattern: this kind of group is not one of ECMA-262; there are "
       "(...), (?:...), (?<name>...), (?=...) and (?!...)"},
      {"(?P<n>a)", "character 1 of the pattern: a named group is written (?<name>...)"},
      {"\\ud83d",
       "character 1 of the pattern: half of a surrogate pair is no character; write the "
       "character or \\u{...}"},
      {"\\", "character 1 of the pattern: a backslash at the end; write \\\\ for the sign itself"},
      {"\xff", "the pattern is not UTF-8"},
      {"^(a{1000}){1000}$",
       "the pattern needs more than 20000 states: make its numbers of "
       "repetitions smaller, or anchor it with ^ and $"},
      {"a[^]{30}$",
       "the pattern needs more than 20000 states: make its numbers of repetitions "
       "smaller, or anchor it with ^ and $"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto dfa = regex_dfa(pattern, RegexMeaning::kSearch);
    ASSERT_FALSE(dfa) << pattern;
    EXPECT_EQ(dfa.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(dfa.error().message, message);
  }
}

TEST(Regex, DeepAndLongOnesNeedNoDeepStack) {
  const std::string open(100'000, '(');
  const auto deep = regex_dfa(open + "a" + std::string(open.size(), ')'), RegexMeaning::kSearch);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().message,
            "character 201 of the pattern: more than 200 groups in each other");
  EXPECT_FALSE(regex_dfa("^" + std::string(500'000, 'a') + "$", RegexMeaning::kSearch));
  std::string wide = "^[";
  for (int i = 0; i < 20'000; ++i)
    append_utf8(0x4E00 + static_cast<char32_t>(i % 20'000), wide);
  EXPECT_TRUE(regex_dfa(wide + "]$", RegexMeaning::kSearch));
  std::string plus = "a";
  for (int i = 0; i < 100; ++i)
    plus = "(" + plus + ")+";
  EXPECT_EQ(regex_dfa(plus, RegexMeaning::kWhole).value().states_count(), 2u);
}

}  // namespace
}  // namespace windrow::grammar
