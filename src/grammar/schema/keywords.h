// The keywords of JSON Schema: which are enforced and which are annotations; and which names are
// probably misspelt keywords. docs/structured.md has the same table for users, and a test compares
// them. Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

enum class KeywordUse : uint8_t {
  kEnforced,
  kIgnored,  // an annotation, or a name or container of what $ref points to
};

// The kind of a keyword's value.
enum class ValueShape : uint8_t {
  kAny,
  kTypeNames,  // "string", or a list of such names
  kText,
  kReference,  // the target of a $ref: "#/$defs/a"
  kNumber,
  kFlag,
  kFlagOrNumber,
  kList,
  kListOfTexts,
  kListOfSchemas,
  kSchema,
  kSchemaOrList,
  kMap,  // an object with a member for each name
};

struct Keyword {
  std::string_view name;
  KeywordUse use = KeywordUse::kEnforced;
  Types types = kAllTypes;  // the types it restricts
  ValueShape shape = ValueShape::kAny;
};

std::span<const Keyword> keywords();

// Null if the name is no keyword. Names that begin with "x-" are annotations.
const Keyword* find_keyword(std::string_view name);

// Whether this value of propertyNames demands nothing of a name but that it is a string, which
// every name is.
bool allows_every_name(const boost::json::value& schema);

// The keyword that `name`, which is none, was probably meant to be; null if it looks like a name of
// another vocabulary. It is taken for a keyword if its value could be that keyword's and
// - it has the same letters in any case and with any punctuation between: `Required`, `min_length`,
//   `type:`; or
// - it is one insertion, deletion, substitution or swap of neighbours away from the keyword, two
// for
//   keywords of ten characters and more: `minLenght`, `additonalProperties`. For `if`, `not`,
//   `then` and `else` only swaps count, since too many words are one letter away.
// Never for names that begin with "_", "@" or "//", by which keywords are disabled, and never for
// annotations: `decription` restricts as little as `description`.
const Keyword* misspelt_keyword(std::string_view name, const boost::json::value& value);

}  // namespace windrow::grammar
