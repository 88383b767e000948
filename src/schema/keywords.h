// The keywords of JSON Schema that the validator knows, which of them contain schemas, and the
// reading of their values. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/decimal.h"
#include "schema/value.h"

namespace windrow::schema {

enum class Keyword : uint8_t {
  kAnnotation,  // no effect on validity
  kDefinitions,
  kReference,
  kDynamicReference,
  kType,
  kNullable,
  kEnum,
  kConst,
  kMinimum,
  kMaximum,
  kExclusiveMinimum,
  kExclusiveMaximum,
  kMultipleOf,
  kMinLength,
  kMaxLength,
  kPattern,
  kFormat,
  kItems,
  kPrefixItems,
  kAdditionalItems,
  kContains,
  kMinContains,
  kMaxContains,
  kMinItems,
  kMaxItems,
  kUniqueItems,
  kUnevaluatedItems,
  kProperties,
  kPatternProperties,
  kAdditionalProperties,
  kUnevaluatedProperties,
  kPropertyNames,
  kRequired,
  kMinProperties,
  kMaxProperties,
  kDependencies,
  kDependentRequired,
  kDependentSchemas,
  kAllOf,
  kAnyOf,
  kOneOf,
  kNot,
  kIf,
  kThen,
  kElse,
};

// The schemas in a keyword's value.
enum class Holds : uint8_t {
  kNoSchema,
  kSchema,
  kSchemas,       // an array of them
  kSchemaOrMany,  // one, or an array of them
  kSchemaMap,     // an object whose members are schemas
  kSchemaOrNames  // the same, or arrays of names
};

struct KeywordInfo {
  std::string_view name;
  Keyword keyword;
  Holds holds = Holds::kNoSchema;
};

// All of them, by name.
std::span<const KeywordInfo> all_keywords();

// Null if the name is no keyword. Names that begin with "x-" are annotations.
const KeywordInfo* find_keyword(std::string_view name);

// Calls `visit(schema, pointer)` for each schema directly in a keyword of `object`, whose JSON
// pointer is `at`. Values of a wrong type are skipped.
void for_each_subschema(
    const boost::json::object& object, const std::string& at,
    const std::function<void(const boost::json::value&, const std::string&)>& visit);

// "/a~1b" for "a/b": one step of a JSON pointer.
std::string pointer_step(std::string_view name);

// --- values of keywords. A value of a wrong type is thrown as a Refusal, which never leaves
// compile_program.

struct Refusal {
  std::string pointer;
  std::string what;
};

const boost::json::object& object_of(const boost::json::value& value, const std::string& at);
std::vector<std::string> names_of(const boost::json::value& value, const std::string& at);
Decimal number_of(const boost::json::value& value, const std::string& at);
uint64_t count_of(const boost::json::value& value, const std::string& at);
bool flag_of(const boost::json::value& value, const std::string& at);
Value value_of(const boost::json::value& value, const std::string& at);

// The bits of Node::types for one name or a list of names.
uint8_t types_of(const boost::json::value& value, const std::string& at);

}  // namespace windrow::schema
