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
#include "grammar/schema/sparse.h"

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
  std::vector<std::string> patterns_not;  // the text is not found by any of them
  std::vector<std::string> formats_not;
  std::vector<std::string> denied;  // none of these texts

  // Formats as wide as any validator reads them, and formats of which only texts are excluded that
  // every validator takes for one (Term::wide).
  std::vector<std::string> formats_wide;
  std::vector<std::string> formats_not_wide;

  // No rule but lengths.
  bool only_lengths() const {
    return patterns.empty() && formats.empty() && patterns_not.empty() && formats_not.empty() &&
           denied.empty() && formats_wide.empty() && formats_not_wide.empty();
  }
  bool none() const { return length_min == 0 && !length_max && only_lengths(); }
};

// Of the items from number `from` on, `min` to `max` are valid under `schema`.
struct ContainsRule {
  SchemaId schema;
  uint32_t min = 1;
  std::optional<uint32_t> max;
  uint32_t from = 0;
};

struct ArrayRules {
  std::vector<SchemaId> prefix;
  std::optional<SchemaId> items;  // all items after the prefix
  uint32_t count_min = 0;
  std::optional<uint32_t> count_max;
  std::vector<ContainsRule> contains;
  bool unique = false;    // no two items are equal
  bool repeated = false;  // two items are equal: what a negated uniqueItems leaves
};

// At least one member has such a name and a value that is valid under `value`. What is left of
// properties, patternProperties, additionalProperties and propertyNames when they are negated.
struct SomeMember {
  std::optional<std::string> pattern;     // the name matches it
  std::vector<std::string> names_not;     // the name is none of these
  std::vector<std::string> patterns_not;  // and matches none of these
  std::optional<SchemaId> name;           // the name, as a string, is valid under it
  std::optional<SchemaId> value;          // nothing: any value
};

struct ObjectRules {
  std::vector<std::pair<std::string, SchemaId>> properties;  // in the order of the text
  std::vector<std::pair<std::string, SchemaId>> patterns;
  std::optional<SchemaId> additional;
  std::vector<std::string> required;
  std::vector<std::string> forbidden;  // names that no member has
  std::vector<SchemaId> names;         // propertyNames: every name, as a string, is valid under it
  std::vector<SomeMember> some;
  uint32_t count_min = 0;  // minProperties
  std::optional<uint32_t> count_max;

  // additionalProperties is absent, and other properties are not allowed (SchemaOptions::open).
  bool closed = false;
};

// The rules of one object of the schema by itself. Rules for a type do not restrict other types.
struct Rules {
  Types types = kAllTypes;
  // Nearly every place has rules of one type at most, and there may be 200,000 places.
  Sparse<NumberRules> numbers;
  Sparse<StringRules> strings;
  Sparse<ArrayRules> arrays;
  Sparse<ObjectRules> objects;
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
    kNot,  // not the one of `parts`, as the standard reads it
    // The one of `parts` as the standard reads it: undeclared properties are allowed, and it
    // declares none for a closed object. The condition of an if.
    kJudged,
  };

  Kind kind = Kind::kAlways;
  std::string pointer;  // "#/properties/a"
  Rules rules;
  std::vector<SchemaId> parts;
};

struct Schema {
  std::deque<SchemaNode> nodes;
  SchemaId root;
  std::deque<boost::json::value> values;  // that nodes made later refer to

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
// The same for an error of kInvalid; another one, that the work was given up, stays as it is.
Error schema_error(std::string_view pointer, const Error& error);

}  // namespace windrow::grammar
