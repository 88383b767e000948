// What a value must be where several places of a schema hold together, worked out: types, bounds
// and members of all of them, joined. Made by Conjunctions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// A place of the schema that must hold. One that only judges comes from another branch of a oneOf:
// it is read as the standard has it (what is not declared is allowed), and what it declares makes
// room for nothing.
struct Term {
  SchemaId schema;
  bool judging = false;

  friend bool operator==(const Term&, const Term&) = default;
};

// All of them hold; in the order of the text, each once.
using Terms = std::vector<Term>;

using NodeId = Id<struct NodeTag, uint32_t>;

struct ArrayShape {
  std::vector<Terms> prefix;
  Terms rest;
  uint32_t count_min = 0;
  std::optional<uint32_t> count_max;
};

struct Member {
  std::string name;
  bool required = false;
};

struct ObjectShape {
  // Of one place of the schema.
  struct Source {
    const ObjectRules* rules = nullptr;
    bool judging = false;
  };

  std::vector<Source> sources;
  std::vector<Member> members;  // declared or required, in the order of the text
  bool closed = false;          // what is not declared may not be there
};

struct Node {
  enum class Kind : uint8_t {
    kOpen,    // being worked out
    kNone,    // no value holds
    kChoice,  // one of `choices` holds
    kShape,
  };

  Kind kind = Kind::kOpen;
  std::string pointer;

  std::string why;  // of kNone: "at #/a: ..."

  std::vector<NodeId> choices;  // of kChoice: at least one, none of them kNone

  // Of kShape. `types` are those of which there is a value, as far as that is known.
  Types types = kAllTypes;
  NumberRules numbers;
  StringRules strings;
  ArrayShape arrays;
  ObjectShape objects;
  std::optional<std::vector<const boost::json::value*>> allowed;  // these only, all of them hold
};

}  // namespace windrow::grammar
