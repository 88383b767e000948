#include "schema/keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace windrow::schema {
namespace {

namespace json = boost::json;

constexpr KeywordInfo kKeywords[] = {
    {"$anchor", Keyword::kAnnotation},
    {"$comment", Keyword::kAnnotation},
    {"$defs", Keyword::kDefinitions, Holds::kSchemaMap},
    {"$dynamicAnchor", Keyword::kUnjudged},
    {"$dynamicRef", Keyword::kUnjudged},
    {"$id", Keyword::kAnnotation},
    {"$recursiveAnchor", Keyword::kUnjudged},
    {"$recursiveRef", Keyword::kUnjudged},
    {"$ref", Keyword::kReference},
    {"$schema", Keyword::kAnnotation},
    {"additionalItems", Keyword::kAdditionalItems, Holds::kSchema},
    {"additionalProperties", Keyword::kAdditionalProperties, Holds::kSchema},
    {"allOf", Keyword::kAllOf, Holds::kSchemas},
    {"anyOf", Keyword::kAnyOf, Holds::kSchemas},
    {"const", Keyword::kConst},
    {"contains", Keyword::kContains, Holds::kSchema},
    {"contentEncoding", Keyword::kAnnotation},
    {"contentMediaType", Keyword::kAnnotation},
    {"contentSchema", Keyword::kAnnotation},
    {"default", Keyword::kAnnotation},
    {"definitions", Keyword::kDefinitions, Holds::kSchemaMap},
    {"dependencies", Keyword::kDependencies, Holds::kSchemaOrNames},
    {"dependentRequired", Keyword::kDependentRequired},
    {"dependentSchemas", Keyword::kDependentSchemas, Holds::kSchemaMap},
    {"deprecated", Keyword::kAnnotation},
    {"description", Keyword::kAnnotation},
    {"discriminator", Keyword::kAnnotation},
    {"else", Keyword::kElse, Holds::kSchema},
    {"enum", Keyword::kEnum},
    {"example", Keyword::kAnnotation},
    {"examples", Keyword::kAnnotation},
    {"exclusiveMaximum", Keyword::kExclusiveMaximum},
    {"exclusiveMinimum", Keyword::kExclusiveMinimum},
    {"externalDocs", Keyword::kAnnotation},
    {"format", Keyword::kFormat},
    {"if", Keyword::kIf, Holds::kSchema},
    {"items", Keyword::kItems, Holds::kSchemaOrMany},
    {"maxContains", Keyword::kMaxContains},
    {"maxItems", Keyword::kMaxItems},
    {"maxLength", Keyword::kMaxLength},
    {"maxProperties", Keyword::kMaxProperties},
    {"maximum", Keyword::kMaximum},
    {"minContains", Keyword::kMinContains},
    {"minItems", Keyword::kMinItems},
    {"minLength", Keyword::kMinLength},
    {"minProperties", Keyword::kMinProperties},
    {"minimum", Keyword::kMinimum},
    {"multipleOf", Keyword::kMultipleOf},
    {"not", Keyword::kNot, Holds::kSchema},
    {"nullable", Keyword::kNullable},
    {"oneOf", Keyword::kOneOf, Holds::kSchemas},
    {"pattern", Keyword::kPattern},
    {"patternProperties", Keyword::kPatternProperties, Holds::kSchemaMap},
    {"prefixItems", Keyword::kPrefixItems, Holds::kSchemas},
    {"properties", Keyword::kProperties, Holds::kSchemaMap},
    {"propertyNames", Keyword::kPropertyNames, Holds::kSchema},
    {"readOnly", Keyword::kAnnotation},
    {"required", Keyword::kRequired},
    {"then", Keyword::kThen, Holds::kSchema},
    {"title", Keyword::kAnnotation},
    {"type", Keyword::kType},
    {"unevaluatedItems", Keyword::kUnjudged},
    {"unevaluatedProperties", Keyword::kUnjudged},
    {"uniqueItems", Keyword::kUniqueItems},
    {"writeOnly", Keyword::kAnnotation},
    {"xml", Keyword::kAnnotation},
};

constexpr KeywordInfo kExtension = {"x-", Keyword::kAnnotation};

}  // namespace

std::span<const KeywordInfo> all_keywords() {
  return kKeywords;
}

const KeywordInfo* find_keyword(std::string_view name) {
  const auto* found = std::lower_bound(
      std::begin(kKeywords), std::end(kKeywords), name,
      [](const KeywordInfo& info, std::string_view wanted) { return info.name < wanted; });
  if (found != std::end(kKeywords) && found->name == name) return found;
  return name.starts_with(kExtension.name) ? &kExtension : nullptr;
}

void for_each_subschema(const json::object& object, const std::string& at,
                        const std::function<void(const json::value&, const std::string&)>& visit) {
  for (const json::key_value_pair& member : object) {
    const KeywordInfo* info = find_keyword(member.key());
    if (info == nullptr || info->holds == Holds::kNoSchema) continue;
    const std::string pointer = at + pointer_step(member.key());
    const json::value& value = member.value();
    if (info->holds == Holds::kSchema) {
      visit(value, pointer);
    } else if (const json::array* many = value.if_array()) {
      if (info->holds != Holds::kSchemas && info->holds != Holds::kSchemaOrMany) continue;
      for (size_t i = 0; i < many->size(); ++i)
        visit((*many)[i], fmt::format("{}/{}", pointer, i));
    } else if (info->holds == Holds::kSchemaOrMany) {
      visit(value, pointer);
    } else if (const json::object* map = value.if_object()) {
      if (info->holds == Holds::kSchemas) continue;
      for (const json::key_value_pair& one : *map) {
        if (!one.value().is_array()) visit(one.value(), pointer + pointer_step(one.key()));
      }
    }
  }
}

std::string pointer_step(std::string_view name) {
  std::string step = "/";
  for (const char c : name) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

}  // namespace windrow::schema
