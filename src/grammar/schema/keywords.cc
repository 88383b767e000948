#include "grammar/schema/keywords.h"

#include <algorithm>
#include <array>

namespace windrow::grammar {
namespace {

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

}  // namespace windrow::grammar
