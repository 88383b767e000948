// The keywords of JSON Schema: which are enforced, which say nothing of what is valid, and what to
// do about the rest. docs/structured.md has the same table for people. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

enum class KeywordUse : uint8_t {
  kEnforced,
  kIgnored,  // an annotation, or a container of what $ref points to
  kRefused,  // unless it constrains nothing where it stands
};

// What a keyword's value is.
enum class ValueShape : uint8_t {
  kAny,
  kTypeNames,  // "string", or a list of such names
  kText,
  kReference,  // a text that says where to go: "#/$defs/a"
  kNumber,
  kFlag,
  kFlagOrNumber,
  kList,
  kListOfTexts,
  kListOfSchemas,
  kSchema,
  kSchemaOrList,
  kMap,  // an object, a member for each of the names that it is about
};

struct Keyword {
  std::string_view name;
  KeywordUse use = KeywordUse::kEnforced;
  Types types = kAllTypes;  // those it says something of
  std::string_view advice;  // of refused ones: what to write instead
  ValueShape shape = ValueShape::kAny;
};

std::span<const Keyword> keywords();

// Null where nobody knows it. All that begins with "x-" is an annotation.
const Keyword* find_keyword(std::string_view name);

}  // namespace windrow::grammar
