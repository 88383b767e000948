#include "grammar/schema/drafts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr auto kDrafts = std::to_array<std::pair<std::string_view, Draft>>({
    {"draft-04/schema", Draft::k04},
    {"draft-05/schema", Draft::k04},  // the same words
    {"draft-06/schema", Draft::k06},
    {"draft-07/schema", Draft::k07},
    {"draft/2019-09/schema", Draft::k2019},
    {"draft/2020-12/schema", Draft::k2020},
    {"schema", Draft::k2020},
});

}  // namespace

std::optional<Draft> draft_of(const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* named = object == nullptr ? nullptr : object->if_contains("$schema");
  if (named == nullptr) return Draft::k2020;
  if (!named->is_string()) return std::nullopt;
  std::string_view name = named->get_string();
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
  }
  if (name.ends_with('#')) name.remove_suffix(1);
  constexpr std::string_view kHost = "json-schema.org/";
  if (!name.starts_with(kHost)) return std::nullopt;
  name.remove_prefix(kHost.size());
  for (const auto& [known, draft] : kDrafts) {
    if (name == known) return draft;
  }
  return std::nullopt;
}

bool names_old_draft(const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* named = object == nullptr ? nullptr : object->if_contains("$schema");
  if (named == nullptr || !named->is_string()) return false;
  const std::string_view name = named->get_string();
  const size_t at = name.find("json-schema.org/draft-0");
  if (at == std::string_view::npos) return false;
  const std::string_view number =
      name.substr(at + std::string_view("json-schema.org/draft-0").size());
  return number.starts_with('0') || number.starts_with('1') || number.starts_with('2') ||
         number.starts_with('3');
}

bool reference_stands_alone(Draft draft, const json::object& schema) {
  return draft <= Draft::k07 && schema.contains("$ref");
}

std::optional<Identifier> identifier_of(Draft draft, const json::object& schema) {
  for (const std::string_view keyword : {"id", "$id"}) {
    if (keyword == "id" && draft != Draft::k04) continue;
    const json::value* text = schema.if_contains(keyword);
    if (text != nullptr && text->is_string()) return Identifier{keyword, text->get_string()};
  }
  return std::nullopt;
}

namespace {

// Since which draft there is a keyword, and up to which.
struct Lifetime {
  std::string_view name;
  Draft first = Draft::k04;
  Draft last = Draft::k2020;
};
constexpr auto kLifetimes = std::to_array<Lifetime>({
    {"$dynamicRef", Draft::k2020},
    {"$recursiveRef", Draft::k2019, Draft::k2019},
    {"const", Draft::k06},
    {"contains", Draft::k06},
    {"dependencies", Draft::k04, Draft::k07},
    {"dependentRequired", Draft::k2019},
    {"dependentSchemas", Draft::k2019},
    {"else", Draft::k07},
    {"if", Draft::k07},
    {"maxContains", Draft::k2019},
    {"minContains", Draft::k2019},
    {"prefixItems", Draft::k2020},
    {"propertyNames", Draft::k06},
    {"then", Draft::k07},
    {"unevaluatedItems", Draft::k2019},
    {"unevaluatedProperties", Draft::k2019},
});

}  // namespace

bool has_keyword(Draft draft, std::string_view name, const json::value& value) {
  if (name == "exclusiveMinimum" || name == "exclusiveMaximum")
    return draft != Draft::k04 || value.is_bool();
  const auto* found = std::ranges::find(kLifetimes, name, &Lifetime::name);
  return found == kLifetimes.end() || (found->first <= draft && draft <= found->last);
}

}  // namespace windrow::grammar
