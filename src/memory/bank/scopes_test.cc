#include "memory/bank/scopes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace windrow::memory {
namespace {

using Names = std::vector<std::string>;

std::vector<Scope> scopes_of(const Names& tags, std::string_view observation_scopes) {
  const Result<ObservationScopes> parsed = observation_scopes_from_text(observation_scopes);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return {};
  }
  return resolve_scopes(Tags(tags), *parsed);
}

TEST(Tags, AreSortedAndEachOnce) {
  EXPECT_EQ(Tags({"b", "a", "b"}).list(), (Names{"a", "b"}));
  EXPECT_EQ(Tags({"z", "x", "y"}), Tags({"y", "z", "x"}));
}

TEST(Tags, AreComparedAsSets) {
  const Tags both({"a", "b"});
  EXPECT_TRUE(both.contains("a"));
  EXPECT_FALSE(both.contains("c"));
  EXPECT_TRUE(both.contains_all(Tags({"b"})));
  EXPECT_TRUE(both.contains_all(Tags()));
  EXPECT_FALSE(both.contains_all(Tags({"b", "c"})));
  EXPECT_TRUE(both.overlaps(Tags({"b", "c"})));
  EXPECT_FALSE(both.overlaps(Tags({"c"})));
  EXPECT_FALSE(both.overlaps(Tags()));
}

TEST(Tags, AreWrittenAsJsonAndReadAgain) {
  const Tags tags({"with \"quotes\"", "ü", "a"});
  EXPECT_EQ(to_json(Tags({"b", "a"})), "[\"a\",\"b\"]");
  EXPECT_EQ(to_json(Tags()), "[]");
  EXPECT_EQ(tags_from_json(to_json(tags)).value(), tags);
}

TEST(Tags, TextThatIsNoListOfStringsIsRefusedWithWhatItIs) {
  EXPECT_EQ(tags_from_json("[\"a\",1]").error().message,
            "tags must have strings only, not a number; put the tag in quotes");
  EXPECT_EQ(tags_from_json("{}").error().message,
            "tags must be an array of strings, not an object; write [\"a\",\"b\"]");
  EXPECT_TRUE(tags_from_json("[").has_error());
}

// The cases of Hindsight's tests of write scopes, W1 to W21, with the scopes in our total order.
struct WriteScopes {
  const char* name;
  Names tags;
  const char* observation_scopes;
  std::vector<Names> expected;
};

const WriteScopes kWriteScopes[] = {
    {"W1 absent", {"alice", "session"}, "", {{"alice", "session"}}},
    {"W1 combined", {"alice", "session"}, "\"combined\"", {{"alice", "session"}}},
    {"W2, W3 no tags", {}, "", {{}}},
    {"W4 per_tag",
     {"alice", "session", "thread"},
     "\"per_tag\"",
     {{"alice"}, {"session"}, {"thread"}}},
    {"W5 per_tag, no tags", {}, "\"per_tag\"", {{}}},
    {"W6 all_combinations of two",
     {"alice", "session"},
     "\"all_combinations\"",
     {{"alice"}, {"alice", "session"}, {"session"}}},
    {"W7 all_combinations of three",
     {"a", "b", "c"},
     "\"all_combinations\"",
     {{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "c"}, {"b"}, {"b", "c"}, {"c"}}},
    {"W8 all_combinations, no tags", {}, "\"all_combinations\"", {{}}},
    {"W9 shared", {"alice", "session"}, "\"shared\"", {{}}},
    {"W10 shared, no tags", {}, "\"shared\"", {{}}},
    {"W11 listed",
     {"alice", "session"},
     R"([["alice"],["session"],["alice","session"]])",
     {{"alice"}, {"alice", "session"}, {"session"}}},
    {"W12 listed, others than its tags", {"alice"}, R"([["unrelated"]])", {{"unrelated"}}},
    {"W13 listed, with the one without tags", {"alice"}, R"([[],["alice"]])", {{}, {"alice"}}},
    {"W14 listed, one of its tags", {"alice"}, R"([["alice"],["other"]])", {{"alice"}, {"other"}}},
    {"W15 null", {"alice"}, "null", {{"alice"}}},
    {"W16 combined by its bare name", {"a"}, "combined", {{"a"}}},
    {"W17 per_tag by its bare name", {"a", "b"}, "per_tag", {{"a"}, {"b"}}},
    {"W18 all_combinations", {"a", "b"}, "all_combinations", {{"a"}, {"a", "b"}, {"b"}}},
    {"W19 per_tag, no tags", {}, "per_tag", {{}}},
    {"W20 listed", {"a", "b"}, R"([["a"],["a","b"]])", {{"a"}, {"a", "b"}}},
    {"W21 shared", {"a", "b"}, "shared", {{}}},
    {"nothing listed is combined", {"a", "b"}, "[]", {{"a", "b"}}},
    {"one listed twice", {"a"}, R"([["b","a"],["a","b"]])", {{"a", "b"}}},
    {"listed, no tags", {}, R"([["a"]])", {{"a"}}},
};

TEST(Scopes, AreThoseOfTheReferencesCases) {
  for (const WriteScopes& row : kWriteScopes) {
    std::vector<Scope> expected;
    for (const Names& scope : row.expected)
      expected.emplace_back(scope);
    EXPECT_EQ(scopes_of(row.tags, row.observation_scopes), expected) << row.name;
  }
}

TEST(Scopes, HaveOneTotalOrderForEveryFact) {  // W22 to W24
  for (const WriteScopes& row : kWriteScopes) {
    const std::vector<Scope> scopes = scopes_of(row.tags, row.observation_scopes);
    EXPECT_FALSE(scopes.empty()) << row.name;
    EXPECT_TRUE(std::ranges::is_sorted(scopes)) << row.name;
    EXPECT_EQ(std::set<Scope>(scopes.begin(), scopes.end()).size(), scopes.size()) << row.name;
  }
  const std::set<Scope> different = {Scope(), Scope({"a"}), Scope({"b"}), Scope({"a", "b"}),
                                     Scope({"a", "b", "c"})};
  EXPECT_EQ(different.size(), 5U);
}

TEST(Scopes, OfTooManyTagsAreCombined) {
  Names tags;
  for (size_t i = 0; i < kCombinedTagsMax; ++i)
    tags.push_back("tag" + std::to_string(i));
  EXPECT_EQ(scopes_of(tags, "all_combinations").size(), (size_t{1} << kCombinedTagsMax) - 1);
  tags.push_back("one more");
  EXPECT_EQ(scopes_of(tags, "all_combinations"), std::vector<Scope>{Scope(tags)});
}

TEST(ObservationScopes, AreWrittenAndReadAgain) {
  for (const char* text :
       {"", "per_tag", "all_combinations", "shared", "[]", "[[]]", R"([["a","b"],["c"]])"}) {
    const Result<ObservationScopes> scopes = observation_scopes_from_text(text);
    ASSERT_TRUE(scopes.has_value()) << text;
    EXPECT_EQ(to_text(*scopes), text);
  }
}

TEST(ObservationScopes, OtherTextIsRefusedWithWhatItMayBe) {
  EXPECT_EQ(observation_scopes_from_text("per-tags").error().message,
            "observation_scopes must be combined, per_tag, all_combinations, shared or a list of "
            "lists of tags, not \"per-tags\"; did you mean per_tag?");
  EXPECT_EQ(observation_scopes_from_text(R"(["a"])").error().message,
            "observation_scopes[0] must be an array of strings, not a string; write [\"a\",\"b\"]");
  EXPECT_TRUE(observation_scopes_from_text("7").has_error());
  EXPECT_TRUE(observation_scopes_from_text(R"([["a",null]])").has_error());
}

}  // namespace
}  // namespace windrow::memory
