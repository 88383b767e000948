#include "grammar/schema/keywords.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace windrow::grammar {
namespace {

namespace json = boost::json;

using enum KeywordUse;
using enum ValueShape;

constexpr Types kMost = kAllTypes;

constexpr auto kKeywords = std::to_array<Keyword>({
    {"$ref", kEnforced, kMost, kReference},
    {"$dynamicRef", kEnforced, kMost, kReference},
    {"$recursiveRef", kEnforced, kMost, kReference},
    {"additionalItems", kEnforced, kArrayType, kSchema},
    {"additionalProperties", kEnforced, kObjectType, kSchema},
    {"allOf", kEnforced, kMost, kListOfSchemas},
    {"anyOf", kEnforced, kMost, kListOfSchemas},
    {"const", kEnforced, kMost},
    {"contains", kEnforced, kArrayType, kSchema},
    {"dependencies", kEnforced, kObjectType, kMap},
    {"dependentRequired", kEnforced, kObjectType, kMap},
    {"dependentSchemas", kEnforced, kObjectType, kMap},
    {"else", kEnforced, kMost, kSchema},
    {"enum", kEnforced, kMost, kList},
    {"exclusiveMaximum", kEnforced, kNumberTypes, kFlagOrNumber},
    {"exclusiveMinimum", kEnforced, kNumberTypes, kFlagOrNumber},
    {"format", kEnforced, kStringType, kText},
    {"if", kEnforced, kMost, kSchema},
    {"items", kEnforced, kArrayType, kSchemaOrList},
    {"maxContains", kEnforced, kArrayType, kNumber},
    {"maxItems", kEnforced, kArrayType, kNumber},
    {"maxLength", kEnforced, kStringType, kNumber},
    {"maxProperties", kEnforced, kObjectType, kNumber},
    {"maximum", kEnforced, kNumberTypes, kNumber},
    {"minContains", kEnforced, kArrayType, kNumber},
    {"minItems", kEnforced, kArrayType, kNumber},
    {"minLength", kEnforced, kStringType, kNumber},
    {"minProperties", kEnforced, kObjectType, kNumber},
    {"minimum", kEnforced, kNumberTypes, kNumber},
    {"multipleOf", kEnforced, kNumberTypes, kNumber},
    {"not", kEnforced, kMost, kSchema},
    {"nullable", kEnforced, kMost, kFlag},
    {"oneOf", kEnforced, kMost, kListOfSchemas},
    {"pattern", kEnforced, kStringType, kText},
    {"patternProperties", kEnforced, kObjectType, kMap},
    {"prefixItems", kEnforced, kArrayType, kListOfSchemas},
    {"properties", kEnforced, kObjectType, kMap},
    {"propertyNames", kEnforced, kObjectType, kSchema},
    {"required", kEnforced, kObjectType, kListOfTexts},
    {"then", kEnforced, kMost, kSchema},
    {"type", kEnforced, kMost, kTypeNames},
    {"unevaluatedItems", kEnforced, kArrayType, kSchema},
    {"unevaluatedProperties", kEnforced, kObjectType, kSchema},
    {"uniqueItems", kEnforced, kArrayType, kFlag},

    {"$anchor", kIgnored},
    {"$comment", kIgnored},
    {"$defs", kIgnored},
    {"$dynamicAnchor", kIgnored},
    {"$id", kIgnored},
    {"$recursiveAnchor", kIgnored},
    {"$schema", kIgnored},
    {"contentEncoding", kIgnored},
    {"contentMediaType", kIgnored},
    {"contentSchema", kIgnored},
    {"default", kIgnored},
    {"definitions", kIgnored},
    {"deprecated", kIgnored},
    {"description", kIgnored},
    {"discriminator", kIgnored},
    {"example", kIgnored},
    {"examples", kIgnored},
    {"externalDocs", kIgnored},
    {"readOnly", kIgnored},
    {"title", kIgnored},
    {"writeOnly", kIgnored},
    {"xml", kIgnored},
});

constexpr Keyword kExtension{"x-", kIgnored};

}  // namespace

std::span<const Keyword> keywords() {
  return kKeywords;
}

const Keyword* find_keyword(std::string_view name) {
  const auto found = std::ranges::find(kKeywords, name, &Keyword::name);
  if (found != kKeywords.end()) return &*found;
  return name.starts_with("x-") ? &kExtension : nullptr;
}

bool allows_every_name(const json::value& schema) {
  if (schema.is_bool()) return schema.get_bool();
  const json::object* object = schema.if_object();
  return object != nullptr && std::ranges::all_of(*object, [](const auto& member) {
           if (member.key() == "type") return member.value() == "string";
           const Keyword* keyword = find_keyword(member.key());
           return keyword != nullptr && keyword->use == KeywordUse::kIgnored;
         });
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
