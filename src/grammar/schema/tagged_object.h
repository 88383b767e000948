// An object whose members are written between tags, strings as they are and all other values as
// JSON, as some models write the arguments of calls. Pure, any thread.
//
//   (key_open KEY key_close VALUE value_close)*
//
// Members are in the order of the schema, then undeclared ones.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar {

// How a reader of calls reads a value (chat::ValueKind).
enum class TaggedKind : uint8_t {
  kText,    // as it is
  kJson,    // as JSON
  kEither,  // as JSON if it is a JSON value and no string, else as it is
};

struct TagForm {
  std::string key_open;
  std::string key_close;
  std::string value_close;
  std::string end_mark;  // ends a value wherever it occurs, so no value contains it

  std::function<TaggedKind(std::string_view)> kind_of;  // by the member's name
};

// As schema_part, for the objects that a schema allows. kInvalid also: an enum or const of whole
// objects, or a required member that has no value which can be written between tags.
Result<Part> tagged_object_part(GrammarBuilder& builder, const boost::json::value& schema,
                                const TagForm& form, const SchemaOptions& options,
                                const GiveUp& give_up = {});

}  // namespace windrow::grammar
