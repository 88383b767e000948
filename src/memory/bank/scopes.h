// Tags, and the scopes of observations that a fact feeds. Pure; any thread.
//
// A scope is a set of tags. An observation belongs to exactly one scope, the one whose tags it has,
// and is shown, changed and deleted only by calls of this scope: neither a larger nor a smaller set
// of tags reaches it. (Hindsight matches supersets, so scopes there can see into each other.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace windrow::memory {

// Sorted, each once.
class Tags {
 public:
  Tags() = default;
  explicit Tags(std::vector<std::string> tags);

  const std::vector<std::string>& list() const { return tags_; }
  bool is_empty() const { return tags_.empty(); }
  size_t size() const { return tags_.size(); }
  bool contains(std::string_view tag) const;
  bool contains_all(const Tags& other) const;
  bool overlaps(const Tags& other) const;

  friend auto operator<=>(const Tags&, const Tags&) = default;

 private:
  std::vector<std::string> tags_;
};

// A JSON array, ["a","b"]: how tags are stored and compared as text.
std::string to_json(const Tags& tags);
// kInvalid: it is no array of strings.
Result<Tags> tags_from_json(std::string_view text);

using Scope = Tags;

// Which scopes a fact feeds.
enum class ScopeKind : uint8_t {
  kCombined,         // one: all of its tags
  kPerTag,           // one for each tag
  kAllCombinations,  // one for each subset of its tags but the empty one
  kShared,           // one: no tags
  kExplicit,         // those that are listed
};

struct ObservationScopes {
  ScopeKind kind = ScopeKind::kCombined;
  std::vector<Scope> listed;  // kExplicit

  friend bool operator==(const ObservationScopes&, const ObservationScopes&) = default;
};

// A fact with more tags has too many subsets: retain refuses kAllCombinations for it, and where it
// gets more tags later, it is kCombined.
constexpr size_t kCombinedTagsMax = 8;

// The scopes, at least one, each once, in the order of Tags, so that every fact takes them in one
// total order. A fact without tags feeds the scope without tags, unless scopes are listed: these
// are taken as they are, whatever its tags. kExplicit with nothing listed is kCombined, while [[]]
// is the scope without tags.
std::vector<Scope> resolve_scopes(const Tags& tags, const ObservationScopes& scopes);

// As it is stored: "" for kCombined, "per_tag", [["a"],["b"]].
std::string to_text(const ObservationScopes& scopes);
// The same, also written as JSON (a string, a list of lists, null). kInvalid says what it may be.
Result<ObservationScopes> observation_scopes_from_text(std::string_view text);

}  // namespace windrow::memory
