#include "memory/bank/tag_filter.h"

#include <algorithm>

namespace windrow::memory {
namespace {

// Tags that are asked for are not empty, unless `match` is kExact.
bool tags_match(const Tags& asked, TagsMatch match, const Tags& of_memory) {
  switch (match) {
    case TagsMatch::kAny:
      return of_memory.is_empty() || of_memory.overlaps(asked);
    case TagsMatch::kAll:
      return of_memory.is_empty() || of_memory.contains_all(asked);
    case TagsMatch::kAnyStrict:
      return of_memory.overlaps(asked);
    case TagsMatch::kAllStrict:
      return of_memory.contains_all(asked);
    case TagsMatch::kExact:
      return of_memory == asked;
  }
  return false;
}

// Without tags and kExact nothing is asked for.
bool leaf_passes(const Tags& asked, TagsMatch match, const Tags& of_memory) {
  if (asked.is_empty() && match != TagsMatch::kExact) return true;
  return tags_match(asked, match, of_memory);
}

bool group_passes(const TagGroup& group, const Tags& of_memory) {
  const auto part_passes = [&of_memory](const TagGroup& part) {
    return group_passes(part, of_memory);
  };
  switch (group.kind) {
    case TagGroup::Kind::kTags:
      return leaf_passes(group.tags, group.match, of_memory);
    case TagGroup::Kind::kAnd:
      return std::ranges::all_of(group.parts, part_passes);
    case TagGroup::Kind::kOr:
      return std::ranges::any_of(group.parts, part_passes);
    case TagGroup::Kind::kNot:
      return std::ranges::none_of(group.parts, part_passes);
  }
  return false;
}

}  // namespace

std::string_view to_string(TagsMatch match) {
  switch (match) {
    case TagsMatch::kAny:
      return "any";
    case TagsMatch::kAll:
      return "all";
    case TagsMatch::kAnyStrict:
      return "any_strict";
    case TagsMatch::kAllStrict:
      return "all_strict";
    case TagsMatch::kExact:
      return "exact";
  }
  return "unknown";
}

std::optional<TagsMatch> tags_match_named(std::string_view name) {
  for (const TagsMatch match : {TagsMatch::kAny, TagsMatch::kAll, TagsMatch::kAnyStrict,
                                TagsMatch::kAllStrict, TagsMatch::kExact})
    if (to_string(match) == name) return match;
  return std::nullopt;
}

bool TagFilter::passes(const Tags& tags_of_memory) const {
  return leaf_passes(tags, match, tags_of_memory) &&
         std::ranges::all_of(groups, [&tags_of_memory](const TagGroup& group) {
           return group_passes(group, tags_of_memory);
         });
}

bool TagFilter::passes_all() const {
  return tags.is_empty() && match != TagsMatch::kExact && groups.empty();
}

}  // namespace windrow::memory
