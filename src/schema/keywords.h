// The words of JSON Schema that are understood here, and which of them hold schemas.
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
  kAnnotation,  // says nothing about what is valid
  kDefinitions,
  kUnjudged,  // known, and refused
  kReference,
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
  kProperties,
  kPatternProperties,
  kAdditionalProperties,
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

// What a keyword's value is made of, as far as schemas are in it.
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

// Null for a name that is no keyword. Names that begin with "x-" are annotations.
const KeywordInfo* find_keyword(std::string_view name);

// Calls `visit(schema, pointer)` for each schema directly in a keyword of `object`, whose own JSON
// pointer is `at`. Values of another shape than the keyword has are passed over.
void for_each_subschema(
    const boost::json::object& object, const std::string& at,
    const std::function<void(const boost::json::value&, const std::string&)>& visit);

// "/a~1b" for "a/b": one step of a JSON pointer.
std::string pointer_step(std::string_view name);

// Values of keywords, read from the JSON of a schema. What is not of the kind that a keyword wants
// is thrown as a Refusal, with the place; it never leaves compile_program.

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

// Bits of Node::types, of one name or a list of names.
uint8_t types_of(const boost::json::value& value, const std::string& at);

}  // namespace windrow::schema
