#include "schema/keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "schema/program.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

constexpr KeywordInfo kKeywords[] = {
    {"$anchor", Keyword::kAnnotation},
    {"$comment", Keyword::kAnnotation},
    {"$defs", Keyword::kDefinitions, Holds::kSchemaMap},
    {"$dynamicAnchor", Keyword::kAnnotation},
    {"$dynamicRef", Keyword::kDynamicReference},
    {"$id", Keyword::kAnnotation},
    {"$recursiveAnchor", Keyword::kAnnotation},
    {"$recursiveRef", Keyword::kDynamicReference},
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
    {"unevaluatedItems", Keyword::kUnevaluatedItems, Holds::kSchema},
    {"unevaluatedProperties", Keyword::kUnevaluatedProperties, Holds::kSchema},
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

// --- values of keywords -------------------------------------------------------------------------

namespace {

constexpr std::array<std::pair<std::string_view, uint8_t>, 7> kTypes = {{
    {"null", kNullType},
    {"boolean", kBooleanType},
    {"integer", kIntegerType},
    {"number", kNumberType},
    {"string", kStringType},
    {"array", kArrayType},
    {"object", kObjectType},
}};

}  // namespace

const json::object& object_of(const json::value& value, const std::string& at) {
  const json::object* object = value.if_object();
  if (object == nullptr) throw Refusal{at, "must be an object"};
  return *object;
}

std::vector<std::string> names_of(const json::value& value, const std::string& at) {
  const json::array* array = value.if_array();
  std::vector<std::string> names;
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const json::string* name = (*array)[i].if_string();
    if (name == nullptr) throw Refusal{fmt::format("{}/{}", at, i), "must be a string"};
    names.emplace_back(*name);
  }
  if (array == nullptr) throw Refusal{at, "must be an array of names"};
  return names;
}

Decimal number_of(const json::value& value, const std::string& at) {
  std::optional<Decimal> number = Decimal::from_json(value);
  if (!number) {
    throw Refusal{at, value.is_bool() ? "must be a number; true and false are of draft-04"
                                      : "must be a number"};
  }
  return *std::move(number);
}

uint64_t count_of(const json::value& value, const std::string& at) {
  const std::optional<Decimal> number = Decimal::from_json(value);
  const std::optional<uint64_t> count = number ? number->to_count() : std::nullopt;
  if (!count) throw Refusal{at, "must be a whole number from 0 up"};
  return *count;
}

bool flag_of(const json::value& value, const std::string& at) {
  const bool* flag = value.if_bool();
  if (flag == nullptr) throw Refusal{at, "must be true or false"};
  return *flag;
}

Value value_of(const json::value& value, const std::string& at) {
  std::optional<Value> result = Value::from_json(value);
  if (!result) throw Refusal{at, "has a number that is too large"};
  return *std::move(result);
}

uint8_t types_of(const json::value& value, const std::string& at) {
  const auto bit = [](const json::value& name, const std::string& place) {
    for (const auto& [known, type] : kTypes) {
      if (name.is_string() && name.get_string() == known) return type;
    }
    throw Refusal{place, "must be null, boolean, integer, number, string, array or object"};
  };
  const json::array* array = value.if_array();
  if (array == nullptr) return bit(value, at);
  if (array->empty()) throw Refusal{at, "must not be empty"};
  unsigned types = 0;
  for (size_t i = 0; i < array->size(); ++i)
    types |= bit((*array)[i], fmt::format("{}/{}", at, i));
  return static_cast<uint8_t>(types);
}

}  // namespace windrow::schema
