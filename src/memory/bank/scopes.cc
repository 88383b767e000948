#include "memory/bank/scopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/suggest.h"
#include "json/parse.h"
#include "json/values.h"
#include "json/writer.h"

namespace windrow::memory {
namespace {

struct NamedScopeKind {
  std::string_view name;
  ScopeKind kind;
};

constexpr std::array kScopeKinds = {
    NamedScopeKind{"combined", ScopeKind::kCombined},
    NamedScopeKind{"per_tag", ScopeKind::kPerTag},
    NamedScopeKind{"all_combinations", ScopeKind::kAllCombinations},
    NamedScopeKind{"shared", ScopeKind::kShared},
};

std::vector<Scope> subsets_of(const Tags& tags) {
  std::vector<Scope> subsets;
  const size_t count = size_t{1} << tags.size();
  subsets.reserve(count - 1);
  for (size_t chosen = 1; chosen < count; ++chosen) {
    std::vector<std::string> subset;
    for (size_t i = 0; i < tags.size(); ++i)
      if ((chosen >> i & 1) != 0) subset.push_back(tags.list()[i]);
    subsets.emplace_back(std::move(subset));
  }
  return subsets;
}

Result<Tags> tags_from(const boost::json::value& value, std::string_view what) {
  const boost::json::array* const array = value.if_array();
  if (array == nullptr) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} must be an array of strings, not {}; write [\"a\",\"b\"]", what,
                             kind_name(value))};
  }
  std::vector<std::string> tags;
  tags.reserve(array->size());
  for (const boost::json::value& tag : *array) {
    const boost::json::string* const text = tag.if_string();
    if (text == nullptr) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} must have strings only, not {}; put the tag in quotes", what,
                               kind_name(tag))};
    }
    tags.emplace_back(*text);
  }
  return Tags(std::move(tags));
}

Result<ObservationScopes> scope_kind_named(std::string_view name) {
  for (const NamedScopeKind& known : kScopeKinds)
    if (known.name == name) return ObservationScopes{.kind = known.kind};
  std::vector<std::string_view> names;
  for (const NamedScopeKind& known : kScopeKinds)
    names.push_back(known.name);
  return Error{ErrorKind::kInvalid,
               fmt::format("observation_scopes must be {} or a list of lists of tags, not \"{}\"{}",
                           fmt::join(names, ", "), name, did_you_mean(name, names, ""))};
}

}  // namespace

Tags::Tags(std::vector<std::string> tags) : tags_(std::move(tags)) {
  std::ranges::sort(tags_);
  tags_.erase(std::ranges::unique(tags_).begin(), tags_.end());
}

bool Tags::contains(std::string_view tag) const {
  return std::ranges::binary_search(tags_, tag, std::less<>());
}

bool Tags::contains_all(const Tags& other) const {
  return std::ranges::includes(tags_, other.tags_);
}

bool Tags::overlaps(const Tags& other) const {
  return std::ranges::any_of(other.tags_, [this](const std::string& tag) { return contains(tag); });
}

std::string to_json(const Tags& tags) {
  std::string text;
  append_json_array(text, tags.list(), [&text](const std::string& tag) { append_json(tag, text); });
  return text;
}

Result<Tags> tags_from_json(std::string_view text) {
  const std::variant<boost::json::value, JsonFault> parsed = parse_json(text);
  if (const auto* const fault = std::get_if<JsonFault>(&parsed)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("tags are no JSON: byte {}: {}; write [\"a\",\"b\"]", fault->byte,
                             fault->reason)};
  }
  return tags_from(std::get<boost::json::value>(parsed), "tags");
}

std::vector<Scope> resolve_scopes(const Tags& tags, const ObservationScopes& scopes) {
  std::vector<Scope> resolved;
  switch (scopes.kind) {
    case ScopeKind::kShared:
      return {Scope()};
    case ScopeKind::kPerTag:
      for (const std::string& tag : tags.list())
        resolved.emplace_back(std::vector<std::string>{tag});
      break;
    case ScopeKind::kAllCombinations:
      if (tags.size() <= kCombinedTagsMax) resolved = subsets_of(tags);
      break;
    case ScopeKind::kExplicit:
      resolved = scopes.listed;
      break;
    case ScopeKind::kCombined:
      break;
  }
  if (resolved.empty()) resolved.push_back(tags);
  std::ranges::sort(resolved);
  resolved.erase(std::ranges::unique(resolved).begin(), resolved.end());
  return resolved;
}

std::string to_text(const ObservationScopes& scopes) {
  if (scopes.kind == ScopeKind::kCombined) return "";
  for (const NamedScopeKind& known : kScopeKinds)
    if (known.kind == scopes.kind) return std::string(known.name);
  std::string text;
  append_json_array(text, scopes.listed, [&text](const Scope& scope) { text += to_json(scope); });
  return text;
}

Result<ObservationScopes> observation_scopes_from_text(std::string_view text) {
  if (text.empty()) return ObservationScopes{};
  const std::variant<boost::json::value, JsonFault> parsed = parse_json(text);
  const auto* const value = std::get_if<boost::json::value>(&parsed);
  if (value == nullptr) return scope_kind_named(text);
  if (value->is_null()) return ObservationScopes{};
  if (value->is_string()) return scope_kind_named(value->get_string());
  const boost::json::array* const array = value->if_array();
  if (array == nullptr) return scope_kind_named(text);

  ObservationScopes scopes{.kind = ScopeKind::kExplicit};
  for (const boost::json::value& listed : *array) {
    Result<Scope> scope =
        tags_from(listed, fmt::format("observation_scopes[{}]", scopes.listed.size()));
    if (!scope) return scope.error();
    scopes.listed.push_back(*std::move(scope));
  }
  return scopes;
}

}  // namespace windrow::memory
