#include "grammar/schema/keywords.h"

#include <algorithm>
#include <array>

namespace windrow::grammar {
namespace {

using enum KeywordUse;

constexpr Types kMost = kAllTypes;

constexpr auto kKeywords = std::to_array<Keyword>({
    {"$ref", kEnforced, kMost, ""},
    {"additionalItems", kEnforced, kArrayType, ""},
    {"additionalProperties", kEnforced, kObjectType, ""},
    {"allOf", kEnforced, kMost, ""},
    {"anyOf", kEnforced, kMost, ""},
    {"const", kEnforced, kMost, ""},
    {"enum", kEnforced, kMost, ""},
    {"exclusiveMaximum", kEnforced, kNumberTypes, ""},
    {"exclusiveMinimum", kEnforced, kNumberTypes, ""},
    {"format", kEnforced, kStringType, ""},
    {"items", kEnforced, kArrayType, ""},
    {"maxItems", kEnforced, kArrayType, ""},
    {"maxLength", kEnforced, kStringType, ""},
    {"maximum", kEnforced, kNumberTypes, ""},
    {"minItems", kEnforced, kArrayType, ""},
    {"minLength", kEnforced, kStringType, ""},
    {"minimum", kEnforced, kNumberTypes, ""},
    {"multipleOf", kEnforced, kNumberTypes, ""},
    {"nullable", kEnforced, kMost, ""},
    {"oneOf", kEnforced, kMost, ""},
    {"pattern", kEnforced, kStringType, ""},
    {"patternProperties", kEnforced, kObjectType, ""},
    {"prefixItems", kEnforced, kArrayType, ""},
    {"properties", kEnforced, kObjectType, ""},
    {"required", kEnforced, kObjectType, ""},
    {"type", kEnforced, kMost, ""},

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

    {"$dynamicAnchor", kRefused, kMost, "use $anchor"},
    {"$dynamicRef", kRefused, kMost, "use $ref"},
    {"$recursiveAnchor", kRefused, kMost, "use $ref"},
    {"$recursiveRef", kRefused, kMost, "use $ref"},
    {"contains", kRefused, kArrayType, "say what every item is, with items or prefixItems"},
    {"dependencies", kRefused, kObjectType, "use anyOf, a branch for each case"},
    {"dependentRequired", kRefused, kObjectType, "use anyOf, a branch for each case"},
    {"dependentSchemas", kRefused, kObjectType, "use anyOf, a branch for each case"},
    {"else", kRefused, kMost, "use anyOf, a branch for each case"},
    {"if", kRefused, kMost, "use anyOf, a branch for each case"},
    {"maxContains", kRefused, kArrayType, "say what every item is, with items or prefixItems"},
    {"maxProperties", kRefused, kObjectType, "declare the properties"},
    {"minContains", kRefused, kArrayType, "say what every item is, with items or prefixItems"},
    {"minProperties", kRefused, kObjectType, "use required"},
    {"not", kRefused, kMost, "say what is allowed instead of what is not"},
    {"propertyNames", kRefused, kObjectType, "use patternProperties"},
    {"then", kRefused, kMost, "use anyOf, a branch for each case"},
    {"unevaluatedItems", kRefused, kArrayType, "use items behind prefixItems"},
    {"unevaluatedProperties", kRefused, kObjectType,
     "leave it out: where additionalProperties is absent, nothing else is allowed"},
    {"uniqueItems", kRefused, kArrayType, "leave it out, and remove what comes twice afterwards"},
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

}  // namespace windrow::grammar
