// Program: a compiled schema: a graph of nodes, one for each schema object that is used. Immutable
// once compiled; any thread.
#pragma once

#include <algorithm>
#include <boost/json/value.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/decimal.h"
#include "schema/formats.h"
#include "schema/pattern.h"
#include "schema/validator.h"
#include "schema/value.h"

namespace windrow::schema {

struct Node;

// Bits of Node::types.
enum TypeBit : uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kNumberType = 8,
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
};

struct NumberRules {
  std::optional<Decimal> minimum;
  std::optional<Decimal> maximum;
  std::optional<Decimal> exclusive_minimum;
  std::optional<Decimal> exclusive_maximum;
  std::optional<Decimal> multiple_of;
  std::optional<std::pair<Decimal, Decimal>> format_range;  // from the format: int32 and the like
};

struct StringRules {
  std::optional<uint64_t> min_length;  // in code points
  std::optional<uint64_t> max_length;
  const Pattern* pattern = nullptr;
  std::optional<Format> format;
};

struct ArrayRules {
  std::vector<const Node*> prefix;
  const Node* rest = nullptr;  // the items after `prefix`; null: anything
  std::string prefix_keyword;  // as the schema spells them, for pointers
  std::string rest_keyword;
  const Node* unevaluated = nullptr;
  const Node* contains = nullptr;
  bool contains_evaluates = false;  // draft 2020-12: the items that it finds
  bool prefix_evaluates = true;     // false: prefixItems in a draft that does not have it
  std::optional<uint64_t> min_contains;
  std::optional<uint64_t> max_contains;
  std::optional<uint64_t> min_items;
  std::optional<uint64_t> max_items;
  bool unique = false;
};

// A rule for objects that have the member `name`.
struct Dependency {
  std::string keyword;  // "dependencies", ...
  std::string name;
  std::vector<std::string> required;
  const Node* schema = nullptr;
};

struct ObjectRules {
  std::map<std::string, const Node*, std::less<>> properties;
  std::vector<std::pair<const Pattern*, const Node*>> patterns;
  bool declares_any = false;  // `properties` or `patternProperties` are there, if empty
  const Node* additional = nullptr;
  const Node* unevaluated = nullptr;
  const Node* names = nullptr;
  std::vector<std::string> required;
  std::vector<Dependency> dependencies;
  std::optional<uint64_t> min_properties;
  std::optional<uint64_t> max_properties;

  // Whether `properties` or `patternProperties` have this name.
  bool declares(std::string_view name) const {
    return properties.contains(name) ||
           std::ranges::any_of(patterns, [&](const auto& pattern_and_node) {
             return pattern_and_node.first->found_in(name);
           });
  }
};

// Schemas that need not all hold: the branches of one anyOf or oneOf, then and else together, one
// dependent schema. `identity` distinguishes such choices.
struct Choice {
  const void* identity = nullptr;
  std::vector<const Node*> declaring;
};

// The names that a node allows in an object, together with the nodes that hold wherever it does (by
// allOf and $ref, transitively). Only in programs that are closed by default.
struct Closing {
  std::vector<const Node*> declaring;  // have `properties` or `patternProperties`
  const Node* closes = nullptr;        // the first of these that says nothing of other names
  std::vector<Choice> choices;
};

struct Node {
  std::string at;       // its JSON pointer
  bool never = false;   // the schema `false`
  bool shared = false;  // more than one path leads here, so results are worth caching

  uint8_t types = 0;                          // 0: any
  std::optional<std::vector<Value>> options;  // enum
  std::optional<Value> constant;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;

  const Node* reference = nullptr;
  std::vector<const Node*> all_of;
  std::vector<const Node*> of_other_drafts;  // those of all_of that evaluate nothing
  std::vector<const Node*> any_of;
  std::vector<const Node*> one_of;
  const Node* negated = nullptr;
  const Node* condition = nullptr;  // if
  const Node* consequence = nullptr;
  const Node* alternative = nullptr;

  std::unique_ptr<Closing> closing;
};

struct Program {
  std::deque<Node> nodes;
  std::deque<Pattern> patterns;
  const Node* root = nullptr;
  bool closed_by_default = false;
};

// Why a program cannot be used.
struct Entanglement {
  std::string pointer;  // to the schema
  std::string what;
};

// Looks at how nodes about one and the same value depend on each other: by $ref, allOf, anyOf,
// oneOf, not, if, then, else and dependent schemas. Returns an error for a circle (judging one
// value would never end) and for a chain that is too long for the stack; else sets Node::closing if
// the program is closed by default. Part of compiling; entanglement.cc.
std::optional<Entanglement> resolve_entanglement(Program& program);

// Compiles the JSON of a schema. Errors as Validator::compile. Pure, any thread.
Result<std::shared_ptr<const Program>> compile_program(const boost::json::value& schema,
                                                       const ValidatorOptions& options);

}  // namespace windrow::schema
