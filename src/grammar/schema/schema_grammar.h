// A JSON Schema as a grammar of the compact JSON texts that are valid under it, their properties in
// the order of the schema. docs/structured.md has the keywords. Pure.
//
// A keyword that cannot be enforced is refused with its JSON pointer. Names that are no keyword
// have no effect, as the standard says, unless they look like a misspelt one (misspelt_keyword.h).
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

enum class Whitespace : uint8_t {
  kCompact,   // none
  kSpaced,    // one blank behind each comma and colon, as Python writes it and models learn it
  kFlexible,  // up to 8 blanks, tabs and line breaks between two words
};

// What becomes of keywords and formats that are not known.
enum class UnknownWords : uint8_t {
  kAnnotate,  // they have no effect, and there is a warning; misspelt keywords are refused
  kRefuse,
};

// Takes a warning: "at #/properties/a/unit: ...".
using Warn = std::function<void(std::string warning)>;

struct SchemaOptions {
  Whitespace whitespace = Whitespace::kCompact;

  // What `additionalProperties` means where it is absent beside `properties` or
  // `patternProperties`: nothing else may be there; or, as in the standard, anything.
  bool open = false;

  UnknownWords unknown = UnknownWords::kAnnotate;
  Warn warn = nullptr;  // nothing: warnings are dropped

  GrammarLimits limits;
};

// Asked now and then by long work, which gives up when it says so: a deadline in production, a
// count in tests.
using GiveUp = std::function<bool()>;

// kInvalid: "at #/properties/a/not: ...", in words for people. kUnavailable: `give_up` said so.
Result<std::shared_ptr<const Grammar>> schema_grammar(const boost::json::value& schema,
                                                      const SchemaOptions& options,
                                                      const GiveUp& give_up = {});

// The same as a part of a larger grammar; `limits` are that one's. Each has a text.
Result<Part> schema_part(GrammarBuilder& builder, const boost::json::value& schema,
                         const SchemaOptions& options, const GiveUp& give_up = {});

// Any JSON value, or any object.
Result<std::shared_ptr<const Grammar>> json_grammar(Whitespace whitespace, bool object_only);

}  // namespace windrow::grammar
