// TagFilter: which memories a query may see, by their tags. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "memory/bank/scopes.h"

namespace windrow::memory {

enum class TagsMatch : uint8_t {
  kAny,        // one of the tags, or untagged
  kAll,        // all of the tags, or untagged
  kAnyStrict,  // one of the tags
  kAllStrict,  // all of the tags
  kExact,      // these tags and no others; of no tags: untagged
};

std::optional<TagsMatch> tags_match_named(std::string_view name);  // "all_strict"
std::string_view to_string(TagsMatch match);

// A tree of conditions (`tag_groups`): a leaf has tags, the others have parts.
struct TagGroup {
  enum class Kind : uint8_t { kTags, kAnd, kOr, kNot };
  Kind kind = Kind::kTags;
  Tags tags;
  TagsMatch match = TagsMatch::kAnyStrict;
  std::vector<TagGroup> parts;
};

struct TagFilter {
  Tags tags;  // empty: all memories, unless `match` is kExact
  TagsMatch match = TagsMatch::kAny;
  std::vector<TagGroup> groups;  // all of them hold

  bool passes(const Tags& tags_of_memory) const;
  bool passes_all() const;  // whether nothing is filtered
};

}  // namespace windrow::memory
