// A JSON Schema as a grammar of the JSON texts that are valid under it, with properties in the
// order of the schema or, as an option, in any order. docs/structured.md has the keywords. Pure,
// any thread.
//
// A keyword that cannot be enforced is refused with its JSON pointer. Names that are no keyword
// have no effect, as the standard says, unless they look like a misspelt one (keywords.h).
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/lexeme/give_up.h"

namespace windrow::grammar {

enum class Whitespace : uint8_t {
  kCompact,   // none
  kSpaced,    // one blank after each comma and colon, as Python writes it and models learn it
  kFlexible,  // up to 8 blanks, tabs and line breaks between two words
};

enum class PropertyOrder : uint8_t {
  kDefinition,  // the order of the schema's text
  kAny,
};

// Unknown keywords and formats.
enum class UnknownWords : uint8_t {
  kAnnotate,  // have no effect and cause a warning; misspelt keywords are refused
  kRefuse,
};

// Takes a warning: "at #/properties/a/unit: ...".
using Warn = std::function<void(std::string warning)>;

struct SchemaOptions {
  Whitespace whitespace = Whitespace::kCompact;

  // If `additionalProperties` is absent beside `properties` or `patternProperties`, other
  // properties are not allowed; with `open` they are, as in the standard.
  bool open = false;

  // Only objects are valid, whatever else the schema allows: it is about the arguments of a call.
  // By some drafts a "type" beside `$ref` would say nothing.
  bool only_objects = false;

  // Of objects that an enum or const gives as a whole, the order is theirs in any case.
  PropertyOrder property_order = PropertyOrder::kDefinition;

  UnknownWords unknown = UnknownWords::kAnnotate;
  Warn warn = nullptr;  // null: warnings are dropped

  GrammarLimits limits;
};

// kInvalid: "at #/properties/a/not: ...", a message for users. kUnavailable: `give_up` returned
// true.
Result<std::shared_ptr<const Grammar>> schema_grammar(const boost::json::value& schema,
                                                      const SchemaOptions& options,
                                                      const GiveUp& give_up = {});

// The same as a part of a larger grammar, whose limits apply. The part has a text.
Result<Part> schema_part(GrammarBuilder& builder, const boost::json::value& schema,
                         const SchemaOptions& options, const GiveUp& give_up = {});

}  // namespace windrow::grammar
