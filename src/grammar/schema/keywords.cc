#include "grammar/schema/keywords.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>

#include "grammar/schema/number_rules.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

using enum KeywordUse;
using enum ValueShape;

constexpr Types kMost = kAllTypes;

constexpr auto kKeywords = std::to_array<Keyword>({
    {"$ref", kEnforced, kMost, "", kReference},
    {"additionalItems", kEnforced, kArrayType, "", kSchema},
    {"additionalProperties", kEnforced, kObjectType, "", kSchema},
    {"allOf", kEnforced, kMost, "", kListOfSchemas},
    {"anyOf", kEnforced, kMost, "", kListOfSchemas},
    {"const", kEnforced, kMost, ""},
    {"enum", kEnforced, kMost, "", kList},
    {"exclusiveMaximum", kEnforced, kNumberTypes, "", kFlagOrNumber},
    {"exclusiveMinimum", kEnforced, kNumberTypes, "", kFlagOrNumber},
    {"format", kEnforced, kStringType, "", kText},
    {"items", kEnforced, kArrayType, "", kSchemaOrList},
    {"maxItems", kEnforced, kArrayType, "", kNumber},
    {"maxLength", kEnforced, kStringType, "", kNumber},
    {"maximum", kEnforced, kNumberTypes, "", kNumber},
    {"minItems", kEnforced, kArrayType, "", kNumber},
    {"minLength", kEnforced, kStringType, "", kNumber},
    {"minimum", kEnforced, kNumberTypes, "", kNumber},
    {"multipleOf", kEnforced, kNumberTypes, "", kNumber},
    {"nullable", kEnforced, kMost, "", kFlag},
    {"oneOf", kEnforced, kMost, "", kListOfSchemas},
    {"pattern", kEnforced, kStringType, "", kText},
    {"patternProperties", kEnforced, kObjectType, "", kMap},
    {"prefixItems", kEnforced, kArrayType, "", kListOfSchemas},
    {"properties", kEnforced, kObjectType, "", kMap},
    {"required", kEnforced, kObjectType, "", kListOfTexts},
    {"type", kEnforced, kMost, "", kTypeNames},

    {"$anchor", kIgnored, kMost, ""},
    {"$comment", kIgnored, kMost, ""},
    {"$defs", kIgnored, kMost, ""},
    {"$id", kIgnored, kMost, ""},
    {"$schema", kIgnored, kMost, ""},
    {"contentEncoding", kIgnored, kMost, ""},
    {"contentMediaType", kIgnored, kMost, ""},
    {"contentSchema", kIgnored, kMost, ""},
    {"default", kIgnored, kMost, ""},
    {"definitions", kIgnored, kMost, ""},
    {"deprecated", kIgnored, kMost, ""},
    {"description", kIgnored, kMost, ""},
    {"discriminator", kIgnored, kMost, ""},
    {"example", kIgnored, kMost, ""},
    {"examples", kIgnored, kMost, ""},
    {"externalDocs", kIgnored, kMost, ""},
    {"readOnly", kIgnored, kMost, ""},
    {"title", kIgnored, kMost, ""},
    {"writeOnly", kIgnored, kMost, ""},
    {"xml", kIgnored, kMost, ""},

    {"$dynamicAnchor", kRefused, kMost, "use $anchor", kText},
    {"$dynamicRef", kRefused, kMost, "use $ref", kReference},
    {"$recursiveAnchor", kRefused, kMost, "use $ref", kFlag},
    {"$recursiveRef", kRefused, kMost, "use $ref", kReference},
    {"contains", kRefused, kArrayType, "say what every item is, with items or prefixItems",
     kSchema},
    {"dependencies", kRefused, kObjectType, "use anyOf, a branch for each case", kMap},
    {"dependentRequired", kRefused, kObjectType, "use anyOf, a branch for each case", kMap},
    {"dependentSchemas", kRefused, kObjectType, "use anyOf, a branch for each case", kMap},
    {"else", kRefused, kMost, "use anyOf, a branch for each case", kSchema},
    {"if", kRefused, kMost, "use anyOf, a branch for each case", kSchema},
    {"maxContains", kRefused, kArrayType, "say what every item is, with items or prefixItems",
     kNumber},
    {"maxProperties", kRefused, kObjectType, "declare the properties", kNumber},
    {"minContains", kRefused, kArrayType, "say what every item is, with items or prefixItems",
     kNumber},
    {"minProperties", kRefused, kObjectType, "use required", kNumber},
    {"not", kRefused, kMost, "say what is allowed instead of what is not", kSchema},
    {"propertyNames", kRefused, kObjectType, "use patternProperties", kSchema},
    {"then", kRefused, kMost, "use anyOf, a branch for each case", kSchema},
    {"unevaluatedItems", kRefused, kArrayType, "use items behind prefixItems", kSchema},
    {"unevaluatedProperties", kRefused, kObjectType,
     "leave it out: where additionalProperties is absent, nothing else is allowed", kSchema},
    {"uniqueItems", kRefused, kArrayType, "leave it out, and remove what comes twice afterwards",
     kFlag},
});

constexpr Keyword kExtension{"x-", kIgnored, kMost, ""};

}  // namespace

std::span<const Keyword> keywords() {
  return kKeywords;
}

const Keyword* find_keyword(std::string_view name) {
  const auto found = std::ranges::find(kKeywords, name, &Keyword::name);
  if (found != kKeywords.end()) return &*found;
  return name.starts_with("x-") ? &kExtension : nullptr;
}

// --- refused keywords that constrain nothing -----------------------------------------------------

namespace {

// true or {}.
bool allows_all(const json::value& schema) {
  return (schema.is_bool() && schema.get_bool()) ||
         (schema.is_object() && schema.get_object().empty());
}

bool allows_none(const json::value& schema) {
  return schema.is_bool() && !schema.get_bool();
}

bool is_zero(const json::value& value) {
  const auto number = Decimal::of(value);
  return number && number->is_zero();
}

bool at_most(const json::value& value, size_t limit) {
  const auto number = Decimal::of(value);
  return number && *number <= Decimal(static_cast<int64_t>(limit));
}

// A schema that demands nothing of a name but that it is a string, which it is.
bool allows_every_name(const json::value& schema) {
  if (allows_all(schema)) return true;
  const json::object* object = schema.if_object();
  return object != nullptr && std::ranges::all_of(*object, [](const auto& member) {
           if (member.key() == "type") return member.value() == "string";
           const Keyword* keyword = find_keyword(member.key());
           return keyword != nullptr && keyword->use == KeywordUse::kIgnored;
         });
}

// How many members an object has at least that has those of `required`.
size_t count_required(const json::value* required) {
  const json::array* names = required == nullptr ? nullptr : required->if_array();
  if (names == nullptr) return 0;
  std::set<std::string_view> different;
  for (const json::value& name : *names) {
    if (name.is_string()) different.insert(name.get_string());
  }
  return different.size();
}

// How many it has at most that may have no others than those of `properties`; nothing: any number.
std::optional<size_t> count_allowed(const json::object& schema) {
  const json::value* additional = schema.if_contains("additionalProperties");
  if (additional == nullptr || !allows_none(*additional)) return std::nullopt;
  if (schema.contains("patternProperties")) return std::nullopt;
  const json::value* properties = schema.if_contains("properties");
  const json::object* names = properties == nullptr ? nullptr : properties->if_object();
  return names == nullptr ? 0 : names->size();
}

// A member for each name: nothing is demanded of any.
bool demands_nothing(const json::value& dependencies) {
  const json::object* object = dependencies.if_object();
  return object != nullptr && std::ranges::all_of(*object, [](const auto& member) {
           const json::value& demand = member.value();
           return allows_all(demand) || (demand.is_array() && demand.get_array().empty());
         });
}

}  // namespace

bool constrains_nothing(std::string_view keyword, const json::value& value,
                        const json::object& siblings) {
  const auto beside = [&](std::string_view name) { return siblings.if_contains(name); };
  if (keyword == "not") return allows_none(value);
  if (keyword == "uniqueItems") {
    if (value.is_bool() && !value.get_bool()) return true;
    const json::value* most = beside("maxItems");
    return most != nullptr && at_most(*most, 1);
  }
  if (keyword == "minProperties") return at_most(value, count_required(beside("required")));
  if (keyword == "maxProperties") {
    const std::optional<size_t> most = count_allowed(siblings);
    return most && Decimal::of(value) &&
           !(*Decimal::of(value) < Decimal(static_cast<int64_t>(*most)));
  }
  if (keyword == "propertyNames") return allows_every_name(value);
  if (keyword == "unevaluatedItems" || keyword == "unevaluatedProperties") {
    return allows_all(value);
  }
  if (keyword == "dependencies" || keyword == "dependentRequired" ||
      keyword == "dependentSchemas") {
    return demands_nothing(value);
  }
  if (keyword == "minContains" || keyword == "maxContains") return beside("contains") == nullptr;
  if (keyword == "contains") {
    const json::value* least = beside("minContains");
    return least != nullptr && is_zero(*least) && beside("maxContains") == nullptr;
  }
  if (keyword == "if") return beside("then") == nullptr && beside("else") == nullptr;
  if (keyword == "then" || keyword == "else") {
    return beside("if") == nullptr || allows_all(value);
  }
  return false;
}

// --- misspelt keywords ---------------------------------------------------------------------------

namespace {

// No keyword is longer than 21 characters.
constexpr size_t kNameMax = 32;

// Words of other vocabularies that differ from a keyword as little as a typing error.
constexpr auto kOtherWords = std::to_array<std::string_view>({
    "inclusiveMaximum",
    "inclusiveMinimum",
});

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whatever their case and whatever stands between them.
bool has_same_letters(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (true) {
    while (i < a.size() && !is_letter(a[i]))
      ++i;
    while (j < b.size() && !is_letter(b[j]))
      ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if ((a[i++] | 0x20) != (b[j++] | 0x20)) return false;
  }
}

// Insertions, deletions, substitutions, and swaps of neighbours (Damerau's distance in its simple
// form: no part is changed twice). Both are at most kNameMax long.
size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kNameMax + 1>;
  Row before{};
  Row above{};
  Row row{};
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

bool names_types(const json::value& value) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"null", "boolean", "integer", "number", "string", "array", "object"});
  const auto is_name = [](const json::value& name) {
    return name.is_string() &&
           std::ranges::find(kNames, std::string_view(name.get_string())) != kNames.end();
  };
  const json::array* list = value.if_array();
  return list == nullptr ? is_name(value) : !list->empty() && std::ranges::all_of(*list, is_name);
}

bool is_schema(const json::value& value) {
  return value.is_object() || value.is_bool();
}

bool is_list_of(const json::value& value, bool (*belongs)(const json::value&)) {
  const json::array* list = value.if_array();
  return list != nullptr && std::ranges::all_of(*list, belongs);
}

bool could_be(const Keyword& keyword, const json::value& value) {
  switch (keyword.shape) {
    case ValueShape::kAny:
      return true;
    case ValueShape::kTypeNames:
      return names_types(value);
    case ValueShape::kText:
      return value.is_string();
    case ValueShape::kReference:
      return value.is_string() && value.get_string().find('#') != json::string::npos;
    case ValueShape::kNumber:
      return value.is_number();
    case ValueShape::kFlag:
      return value.is_bool();
    case ValueShape::kFlagOrNumber:
      return value.is_bool() || value.is_number();
    case ValueShape::kList:
      return value.is_array();
    case ValueShape::kListOfTexts:
      return is_list_of(value, [](const json::value& one) { return one.is_string(); });
    case ValueShape::kListOfSchemas:
      return is_list_of(value, is_schema);
    case ValueShape::kSchema:
      return is_schema(value);
    case ValueShape::kSchemaOrList:
      return is_schema(value) || is_list_of(value, is_schema);
    case ValueShape::kMap:
      return value.is_object();
  }
  return false;
}

bool one_swap_away(std::string_view name, std::string_view keyword) {
  return name.size() == keyword.size() && std::ranges::is_permutation(name, keyword) &&
         distance(name, keyword) == 1;
}

bool looks_like(std::string_view name, const Keyword& keyword) {
  if (has_same_letters(name, keyword.name)) return true;
  constexpr size_t kShort = 4;
  constexpr size_t kLong = 10;
  const size_t length = keyword.name.size();
  const size_t limit = length >= kLong ? 2 : 1;
  if (name.size() > length + limit || length > name.size() + limit) return false;
  if (length <= kShort && keyword.shape == ValueShape::kSchema)
    return one_swap_away(name, keyword.name);
  return distance(name, keyword.name) <= limit;
}

}  // namespace

const Keyword* misspelt_keyword(std::string_view name, const json::value& value) {
  if (name.size() > kNameMax) return nullptr;
  if (name.starts_with('_') || name.starts_with('@') || name.starts_with("//")) return nullptr;
  if (std::ranges::find(kOtherWords, name) != kOtherWords.end()) return nullptr;
  const Keyword* nearest = nullptr;
  size_t least = kNameMax;
  for (const Keyword& keyword : keywords()) {
    if (keyword.use == KeywordUse::kIgnored) continue;
    if (!could_be(keyword, value) || !looks_like(name, keyword)) continue;
    const size_t changes = distance(name, keyword.name);
    if (nearest != nullptr && changes >= least) continue;
    nearest = &keyword;
    least = changes;
  }
  return nearest;
}

}  // namespace windrow::grammar
