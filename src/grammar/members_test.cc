// Members in any order or in one, held to all their texts written out one by one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "grammar/grammar.h"
#include "grammar/matcher.h"
#include "grammar/member_sets.h"
#include "grammar/recognizer.h"

namespace windrow::grammar {
namespace {

using ::testing::HasSubstr;

struct Named {
  std::string name;
  std::string value;
  bool required = false;
};

struct Spec {
  std::vector<Named> named;
  std::optional<std::string> other;
  std::optional<uint32_t> other_max;
  std::string separator;
  uint32_t min = 0;
  std::optional<uint32_t> max;
  bool in_order = false;

  Part part(GrammarBuilder& builder) const {
    GrammarBuilder::Members members{
        .other_max = other_max, .count_min = min, .count_max = max, .in_order = in_order};
    for (const Named& one : named)
      members.named.push_back({one.name, builder.text(one.value), one.required});
    if (other) members.other = builder.text(*other);
    if (!separator.empty()) members.separator = builder.text(separator);
    return builder.members(std::move(members));
  }

  // All texts of at most so many bytes.
  std::set<std::string> texts(size_t bytes_max) const {
    std::set<std::string> all;
    add_texts("", {}, 0, 0, bytes_max, all);
    return all;
  }

 private:
  void add_texts(const std::string& text, const std::set<size_t>& written, uint32_t count,
                 uint32_t others, size_t bytes_max, std::set<std::string>& all) const {
    if (text.size() > bytes_max || (max && count > *max)) return;
    bool complete = count >= min;
    for (size_t i = 0; i < named.size(); ++i)
      complete = complete && (!named[i].required || written.contains(i));
    if (complete) all.insert(text);
    const std::string begin = count == 0 ? "" : text + separator;
    if (other && others < other_max.value_or(UINT32_MAX))
      add_texts(begin + *other, written, count + 1, others + 1, bytes_max, all);
    for (size_t i = 0; i < named.size(); ++i) {
      if (written.contains(i)) continue;
      if (in_order && (others > 0 || (!written.empty() && *written.rbegin() > i))) continue;
      std::set<size_t> more = written;
      more.insert(i);
      add_texts(begin + named[i].name + named[i].value, more, count + 1, others, bytes_max, all);
    }
  }
};

constexpr std::string_view kLetters = "abcx,;";

Spec random_spec(Random& random) {
  Spec spec;
  std::vector<std::string> names = {"a", "ab", "b", "ba", "abb", "c"};
  for (size_t left = random.below(5); left > 0; --left) {
    const size_t at = random.below(names.size());
    const std::string values[] = {"", "x", "xx", "b", ","};
    spec.named.push_back({names[at], values[random.below(5)], random.chance(0.3)});
    names.erase(names.begin() + static_cast<ptrdiff_t>(at));
  }
  if (random.chance(0.4)) spec.other = random.chance(0.7) ? "cx" : "ab";
  if (random.chance(0.3)) spec.other_max = static_cast<uint32_t>(random.below(3));
  if (random.chance(0.7)) spec.separator = random.chance(0.7) ? "," : ",;";
  if (random.chance(0.4)) spec.min = static_cast<uint32_t>(random.below(4));
  if (random.chance(0.4)) spec.max = spec.min + static_cast<uint32_t>(random.below(4));
  spec.in_order = spec.min == 0 && !spec.max && random.chance(0.5);
  return spec;
}

StateId behind(Recognizer& recognizer, std::string_view text) {
  StateId state = Recognizer::kFirst;
  for (const char byte : text)
    state = recognizer.step(state, static_cast<uint8_t>(byte));
  return state;
}

// From every state that is reached some text leads to an end.
bool leads_to_ends(Recognizer& recognizer) {
  std::map<StateId, std::vector<StateId>> before;
  std::deque<StateId> todo = {Recognizer::kFirst};
  std::set<StateId> seen = {Recognizer::kFirst};
  std::deque<StateId> good;
  while (!todo.empty() && seen.size() < 3000) {
    const StateId state = todo.front();
    todo.pop_front();
    if (recognizer.can_end(state)) good.push_back(state);
    for (const char byte : kLetters) {
      const StateId to = recognizer.step(state, static_cast<uint8_t>(byte));
      if (to == Recognizer::kDead) continue;
      before[to].push_back(state);
      if (seen.insert(to).second) todo.push_back(to);
    }
  }
  if (!todo.empty()) return true;  // not all are known
  std::set<StateId> reaching(good.begin(), good.end());
  for (; !good.empty(); good.pop_front()) {
    for (const StateId from : before[good.front()]) {
      if (reaching.insert(from).second) good.push_back(from);
    }
  }
  return reaching.size() == seen.size();
}

TEST(Members, HaveExactlyTheirTexts) {
  int built = 0;
  size_t texts_count = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Spec spec = random_spec(random);
    const std::set<std::string> texts = spec.texts(9);
    GrammarBuilder builder;
    const auto grammar = builder.finish(spec.part(builder));
    if (!grammar) {
      EXPECT_TRUE(spec.texts(20).empty());
      continue;
    }
    ++built;
    Recognizer recognizer(*grammar);
    for (const std::string& text : texts) {
      ++texts_count;
      ASSERT_TRUE(recognizer.can_end(behind(recognizer, text))) << text;
      for (int i = 0; i < 4; ++i) {
        std::string other = text;
        const char byte = kLetters[random.below(kLetters.size())];
        const size_t at = random.below(text.size() + 1);
        if (at < text.size() && random.chance(0.5)) {
          other[at] = byte;
        } else if (at < text.size() && random.chance(0.5)) {
          other.erase(at, 1);
        } else {
          other.insert(at, 1, byte);
        }
        if (other.size() > 9) continue;
        ASSERT_EQ(recognizer.can_end(behind(recognizer, other)), texts.contains(other)) << other;
      }
    }
    ASSERT_TRUE(leads_to_ends(recognizer));
  }
  EXPECT_GT(built, 1000);
  EXPECT_GT(texts_count, 10'000U);
}

// The same within a repetition and a choice, where readings with different members are alive at
// once.
TEST(Members, HaveExactlyTheirTextsAmongOthers) {
  size_t texts_count = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Spec one = random_spec(random);
    const Spec two = random_spec(random);
    GrammarBuilder builder;
    const Part either = builder.choice({one.part(builder), two.part(builder)});
    const auto grammar = builder.finish(builder.sequence({either, builder.text(";"), either}));
    std::set<std::string> firsts = one.texts(7);
    firsts.merge(two.texts(7));
    std::set<std::string> texts;
    for (const std::string& first : firsts) {
      for (const std::string& second : firsts) {
        std::string text = first;
        text += ';';
        text += second;
        if (text.size() <= 7) texts.insert(std::move(text));
      }
    }
    if (!grammar) continue;
    Recognizer recognizer(*grammar);
    for (const std::string& text : texts) {
      ++texts_count;
      ASSERT_TRUE(recognizer.can_end(behind(recognizer, text))) << text;
      std::string other = text;
      other[random.below(text.size())] = kLetters[random.below(kLetters.size())];
      ASSERT_EQ(recognizer.can_end(behind(recognizer, other)), texts.contains(other)) << other;
    }
    ASSERT_TRUE(leads_to_ends(recognizer));
  }
  EXPECT_GT(texts_count, 4'000U);
}

// `{`, then these members, then `}`.
Part braced(GrammarBuilder& builder, GrammarBuilder::Members members) {
  members.separator = builder.text(",");
  return builder.sequence(
      {builder.text("{"), builder.members(std::move(members)), builder.text("}")});
}

TEST(Members, MayContainThemselves) {
  GrammarBuilder builder;
  const Part object = builder.rule("object");
  builder.define(object, braced(builder, {.named = {{"a:", object, false},
                                                    {"b:", object, false},
                                                    {"c:", builder.text("1"), true}}}));
  const auto grammar = builder.finish(object);
  ASSERT_TRUE(grammar) << grammar.error().message;
  Recognizer recognizer(*grammar);
  const auto has = [&](std::string_view text) {
    return recognizer.can_end(behind(recognizer, text));
  };
  EXPECT_TRUE(has("{c:1}"));
  EXPECT_TRUE(has("{a:{c:1,b:{a:{c:1},c:1}},c:1}"));
  EXPECT_TRUE(has("{c:1,b:{c:1},a:{c:1}}"));
  EXPECT_FALSE(has("{a:{b:{c:1}},c:1}"));
  EXPECT_EQ(behind(recognizer, "{c:1,c"), Recognizer::kDead);
  EXPECT_EQ(behind(recognizer, "{c:1,a:{c:1},b:{c:1},"), Recognizer::kDead);
}

TEST(Members, WithoutAValueAreLeftOut) {
  GrammarBuilder builder;
  const Part endless = builder.rule("endless");
  builder.define(endless, braced(builder, {.named = {{"a:", endless, true}}}));
  const Part one = builder.text("1");
  const Part root = braced(
      builder,
      {.named = {{"a:", endless, false}, {"b:", one, false}}, .other = endless, .count_min = 1});
  const auto grammar = builder.finish(root);
  ASSERT_TRUE(grammar) << grammar.error().message;
  Recognizer recognizer(*grammar);
  EXPECT_TRUE(recognizer.can_end(behind(recognizer, "{b:1}")));
  EXPECT_EQ(behind(recognizer, "{a"), Recognizer::kDead);
  EXPECT_EQ(behind(recognizer, "{b:1,"), Recognizer::kDead);
}

TEST(Members, ThatCannotBeAreRefused) {
  const auto error_of = [](const auto& write) {
    GrammarBuilder builder;
    const Part root = builder.rule("root");
    builder.define(root, write(builder, root));
    const auto grammar = builder.finish(root);
    return grammar ? "" : grammar.error().message;
  };
  const auto needing = [](GrammarBuilder& builder, Part root) {
    return braced(builder, {.named = {{"a:", root, true}}});
  };
  EXPECT_THAT(error_of(needing), HasSubstr("\"root\" has no text"));
  const auto too_few = [](GrammarBuilder& builder, Part root) {
    return braced(builder, {.named = {{"a:", builder.text("1"), false}, {"b:", root, false}},
                            .count_min = 2});
  };
  EXPECT_THAT(error_of(too_few), HasSubstr("\"root\" has no text"));
  const auto too_many = [](GrammarBuilder& builder, Part) {
    const Part one = builder.text("1");
    return braced(builder, {.named = {{"a:", one, true}, {"b:", one, true}}, .count_max = 1});
  };
  EXPECT_THAT(error_of(too_many), HasSubstr("\"root\" has no text"));
  const auto left = [](GrammarBuilder& builder, Part root) {
    return builder.members({.other = root, .count_min = 1});
  };
  EXPECT_THAT(error_of(left), HasSubstr("has no text"));
  const auto recursive = [](GrammarBuilder& builder, Part root) {
    const Part other = builder.choice({root, builder.text("x")});
    return builder.sequence({builder.members({.other = other, .count_min = 1}), builder.text("1")});
  };
  EXPECT_THAT(error_of(recursive), HasSubstr("begins with itself"));
}

// Tokens that begin and end anywhere, tried one by one; with so little memory that states are
// forgotten all the time.
TEST(Members, HaveExactMasks) {
  GrammarBuilder builder;
  GrammarBuilder::Members members;
  for (const std::string_view name : {"\"a\":", "\"ab\":", "\"abc\":", "\"b\":", "\"x y\":"}) {
    const bool digits = name.size() == 4;
    const Part value =
        digits ? builder.text("12")
               : builder.sequence({builder.text("\""), builder.lexeme(json_any_string_dfa()),
                                   builder.text("\"")});
    members.named.push_back({std::string(name), value, digits});
  }
  members.other = builder.sequence({builder.text("\"o"), builder.text("\":0")});
  members.count_max = 6;
  const auto grammar = builder.finish(braced(builder, std::move(members)));
  ASSERT_TRUE(grammar);
  std::vector<std::string> tokens = {"</s>"};
  Random random(7);
  const std::vector<std::string> pieces = {"{",   "}",     ",",    "\"",    "a", "b", "c", "ab",
                                           ":",   "\":",   "12",   "\",\"", "x", " ", "y", "0",
                                           "\"}", "\":\"", ",\"a", "abc\"", "1", "2", "o", "\\n"};
  tokens.insert(tokens.end(), pieces.begin(), pieces.end());
  for (int i = 0; i < 200; ++i) {
    std::string token;
    for (size_t left = 2 + random.below(4); left > 0; --left)
      token += pieces[random.below(pieces.size())];
    tokens.push_back(token);
  }
  const auto tables = TokenTables::make(tokens, {0});
  const auto compiled = std::make_shared<CompiledGrammar>(
      *grammar, tables, CompiledGrammarOptions{.masks_bytes_max = 4096, .states_bytes_max = 4096});
  int whole = 0;
  for (int walk = 0; walk < 40; ++walk) {
    Matcher matcher(compiled);
    std::string text;
    for (int step = 0; step < 60; ++step) {
      const auto mask = matcher.mask();
      std::vector<Token> allowed;
      for (Token token = 0; token < mask->size(); ++token) {
        Matcher copy = matcher;
        const bool fits =
            token == 0 ? matcher.can_end() : copy.accept_bytes(tokens[static_cast<size_t>(token)]);
        ASSERT_EQ(mask->allows(token), fits) << text << ' ' << tokens[static_cast<size_t>(token)];
        if (fits) allowed.push_back(token);
      }
      ASSERT_FALSE(allowed.empty()) << text;
      const Token token = allowed[random.below(allowed.size())];
      if (token == 0) break;
      text += tokens[static_cast<size_t>(token)];
      ASSERT_TRUE(matcher.accept(token));
    }
    if (matcher.can_end()) ++whole;
  }
  EXPECT_GT(whole, 10);
}

// Only orders that are met have states.
TEST(Members, InManyOrdersHaveFewStates) {
  constexpr size_t kMembers = 30;
  constexpr int kOrders = 100;
  GrammarBuilder builder;
  GrammarBuilder::Members members;
  const Part value = builder.text("1");
  for (size_t i = 0; i < kMembers; ++i)
    members.named.push_back({fmt::format("\"m{:02}\":", i), value, false});
  const auto grammar = builder.finish(braced(builder, std::move(members)));
  ASSERT_TRUE(grammar);
  Recognizer recognizer(*grammar);
  Random random(3);
  for (int i = 0; i < kOrders; ++i) {
    std::vector<size_t> order(kMembers);
    for (size_t at = 0; at < kMembers; ++at) {
      order[at] = at;
      std::swap(order[at], order[random.below(at + 1)]);
    }
    std::string text = "{";
    for (const size_t member : order) {
      text += fmt::format("{}\"m{:02}\":1", text.size() == 1 ? "" : ",", member);
      ASSERT_TRUE(recognizer.can_end(behind(recognizer, text + "}")));
      ASSERT_EQ(behind(recognizer, fmt::format("{},\"m{:02}", text, member)), Recognizer::kDead);
    }
    ASSERT_EQ(behind(recognizer, text + ","), Recognizer::kDead);
  }
  EXPECT_LE(recognizer.steps_found(), 15 * kMembers * kOrders);
  EXPECT_LE(recognizer.memory_bytes(), size_t{20} << 20);
  const std::string cost =
      fmt::format("{} steps, {} sets, {} KB\n", recognizer.steps_found(),
                  recognizer.member_sets_count(), recognizer.memory_bytes() >> 10);
  std::cout << cost;  // tidy-allow print: what many orders cost is to be seen
}

TEST(MemberSets, AreSetsOfNumbers) {
  MemberSets sets;
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    std::set<uint32_t> wanted;
    MemberSetId set = MemberSets::kNone;
    for (size_t left = random.below(40); left > 0; --left) {
      const auto member = static_cast<uint32_t>(random.below(100));
      if (wanted.insert(member).second) set = sets.with(set, member);
    }
    EXPECT_EQ(sets.size(set), wanted.size());
    std::vector<uint32_t> only(random.below(5));
    for (uint32_t& word : only)
      word = static_cast<uint32_t>(random.below(uint64_t{1} << 32)) & 0x11111111;
    const auto first = static_cast<uint32_t>(random.below(100));
    const auto end = first + static_cast<uint32_t>(random.below(101 - first));
    bool lacks = false;
    bool lacks_only = false;
    uint32_t missing = 0;
    for (uint32_t member = 0; member < 160; ++member) {
      const bool is_in = wanted.contains(member);
      if (member < 100) {
        EXPECT_EQ(sets.contains(set, member), is_in);
      }
      const bool counts =
          member / 32 < only.size() && (only[member / 32] >> (member % 32) & 1) != 0;
      if (counts && !is_in) ++missing;
      if (member < first || member >= end || is_in) continue;
      lacks = true;
      lacks_only = lacks_only || counts;
    }
    EXPECT_EQ(sets.lacks_some(set, {first, end}), lacks);
    EXPECT_EQ(sets.lacks_some(set, {first, end}, only), lacks_only);
    EXPECT_EQ(sets.missing(set, only), missing);
    MemberSets other;
    EXPECT_TRUE(
        std::ranges::equal(other.members(other.intern(sets.members(set))), sets.members(set)));
  }
  MemberSets two;
  EXPECT_EQ(two.with(two.with(MemberSets::kNone, 3), 70),
            two.with(two.with(MemberSets::kNone, 70), 3));
}

}  // namespace
}  // namespace windrow::grammar
