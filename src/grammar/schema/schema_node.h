// Schema: a JSON Schema as nodes: the rules of each place in it, and which other places must hold
// together with it. Made by read_schema(), immutable afterwards.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/schema/number_rules.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar {

// A node of the schema: one place in its text, or a part of one.
using SchemaId = Id<struct SchemaTag, uint32_t>;

// A set of types. Numbers are integers or fractions: with both bits any number is allowed.
using Types = uint8_t;
inline constexpr Types kNullType = 1;
inline constexpr Types kBooleanType = 2;
inline constexpr Types kIntegerType = 4;
inline constexpr Types kFractionType = 8;
inline constexpr Types kStringType = 16;
inline constexpr Types kArrayType = 32;
inline constexpr Types kObjectType = 64;
inline constexpr Types kNumberTypes = kIntegerType | kFractionType;
inline constexpr Types kAllTypes = 127;

struct StringRules {
  uint32_t length_min = 0;
  std::optional<uint32_t> length_max;
  std::vector<std::string> patterns;
  std::vector<std::string> formats;

  bool none() const {
    return length_min == 0 && !length_max && patterns.empty() && formats.empty();
  }
};

struct ArrayRules {
  std::vector<SchemaId> prefix;
  std::optional<SchemaId> items;  // all items after the prefix
  uint32_t count_min = 0;
  std::optional<uint32_t> count_max;
};

struct ObjectRules {
  std::vector<std::pair<std::string, SchemaId>> properties;  // in the order of the text
  std::vector<std::pair<std::string, SchemaId>> patterns;
  std::optional<SchemaId> additional;
  std::vector<std::string> required;

  // additionalProperties is absent, and other properties are not allowed (SchemaOptions::open).
  bool closed = false;
};

// The rules of one object of the schema by itself. Rules for a type do not restrict other types.
struct Rules {
  Types types = kAllTypes;
  NumberRules numbers;
  StringRules strings;
  ArrayRules arrays;
  ObjectRules objects;
  std::optional<std::vector<const boost::json::value*>> allowed;  // enum and const
};

struct SchemaNode {
  enum class Kind : uint8_t {
    kAlways,  // true
    kNever,   // false
    kRules,
    kAll,  // all of `parts`; also a $ref, with one part
    kAny,  // at least one of `parts`
    kOne,  // exactly one of `parts`
  };

  Kind kind = Kind::kAlways;
  std::string pointer;  // "#/properties/a"
  Rules rules;
  std::vector<SchemaId> parts;
};

struct Schema {
  std::deque<SchemaNode> nodes;
  SchemaId root;

  const SchemaNode& operator[](SchemaId id) const { return nodes[id.value()]; }
};

// Reads a JSON Schema into nodes. Every keyword of every part that is reached is enforced, an
// annotation, or refused. Pure. The result refers to values of `schema`, which must outlive it.
// kInvalid: a keyword that cannot be enforced or has a wrong value, a reference to nothing or to
// itself, too many parts. kUnavailable: `give_up` returned true.
Result<Schema> read_schema(const boost::json::value& schema, const SchemaOptions& options,
                           const GiveUp& give_up);

// "at #/properties/a: ..."
Error schema_error(std::string_view pointer, std::string_view what);

}  // namespace windrow::grammar
