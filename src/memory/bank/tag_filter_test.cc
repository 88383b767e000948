#include "memory/bank/tag_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace windrow::memory {
namespace {

// Which of the memories {}, {a}, {b}, {a,b}, {a,b,c} pass, as the letters u, a, b, 2, 3.
std::string passing(const TagFilter& filter) {
  const std::vector<std::pair<char, Tags>> memories = {{'u', Tags()},
                                                       {'a', Tags({"a"})},
                                                       {'b', Tags({"b"})},
                                                       {'2', Tags({"a", "b"})},
                                                       {'3', Tags({"a", "b", "c"})}};
  std::string letters;
  for (const auto& [letter, tags] : memories)
    if (filter.passes(tags)) letters += letter;
  return letters;
}

TagGroup leaf(std::vector<std::string> tags, TagsMatch match = TagsMatch::kAnyStrict) {
  return {.tags = Tags(std::move(tags)), .match = match};
}

TagGroup compound(TagGroup::Kind kind, std::vector<TagGroup> parts) {
  return {.kind = kind, .parts = std::move(parts)};
}

TEST(TagFilter, MatchesInFiveWays) {
  const Tags asked({"a", "b"});
  EXPECT_EQ(passing({.tags = asked, .match = TagsMatch::kAny}), "uab23");
  EXPECT_EQ(passing({.tags = asked, .match = TagsMatch::kAll}), "u23");
  EXPECT_EQ(passing({.tags = asked, .match = TagsMatch::kAnyStrict}), "ab23");
  EXPECT_EQ(passing({.tags = asked, .match = TagsMatch::kAllStrict}), "23");
  EXPECT_EQ(passing({.tags = asked, .match = TagsMatch::kExact}), "2");
}

TEST(TagFilter, WithoutTagsPassesAllUnlessExact) {
  for (const TagsMatch match :
       {TagsMatch::kAny, TagsMatch::kAll, TagsMatch::kAnyStrict, TagsMatch::kAllStrict}) {
    EXPECT_EQ(passing({.match = match}), "uab23");
    EXPECT_TRUE(TagFilter{.match = match}.passes_all());
  }
  EXPECT_EQ(passing({.match = TagsMatch::kExact}), "u");
  EXPECT_FALSE(TagFilter{.match = TagsMatch::kExact}.passes_all());
}

TEST(TagFilter, GroupsAllHoldAndNest) {
  using Kind = TagGroup::Kind;
  EXPECT_EQ(passing({.groups = {leaf({"a"}), leaf({"b"})}}), "23");
  EXPECT_EQ(
      passing({.groups = {compound(Kind::kOr, {leaf({"c"}), leaf({"b"}, TagsMatch::kExact)})}}),
      "b3");
  EXPECT_EQ(passing({.groups = {compound(Kind::kNot, {leaf({"b"})})}}), "ua");
  EXPECT_EQ(passing({.groups = {compound(Kind::kAnd,
                                         {leaf({"a"}), compound(Kind::kNot, {leaf({"c"})})})}}),
            "a2");
  EXPECT_FALSE((TagFilter{.groups = {leaf({"a"})}}.passes_all()));
}

TEST(TagFilter, MatchIsNamedAsClientsNameIt) {
  EXPECT_EQ(tags_match_named("all_strict"), TagsMatch::kAllStrict);
  EXPECT_EQ(tags_match_named("every"), std::nullopt);
  for (const TagsMatch match : {TagsMatch::kAny, TagsMatch::kAll, TagsMatch::kAnyStrict,
                                TagsMatch::kAllStrict, TagsMatch::kExact})
    EXPECT_EQ(tags_match_named(to_string(match)), match);
}

}  // namespace
}  // namespace windrow::memory
