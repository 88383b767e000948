// An object whose members stand between tags: strings as they are, every other value as JSON, as
// some models write the arguments of calls. Pure.
//
//   (key_open KEY key_close VALUE value_close)*
//
// in the order of the schema; what is not declared comes behind that.
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

// How whoever reads a value takes it.
enum class TaggedKind : uint8_t {
  kText,    // as it is
  kJson,    // as JSON
  kEither,  // as JSON where it is that and no string, else as it is
};

struct TagForm {
  std::string key_open;
  std::string key_close;
  std::string value_close;
  std::string end_mark;  // no value has this in it: it is taken for the end

  std::function<TaggedKind(std::string_view)> kind_of;  // by the member's name
};

// Of a schema of an object; as schema_part. kInvalid also: an enum or const of whole objects, or a
// required member that has no value which can be written so.
Result<Part> tagged_object_part(GrammarBuilder& builder, const boost::json::value& schema,
                                const TagForm& form, const SchemaOptions& options,
                                const GiveUp& give_up = {});

}  // namespace windrow::grammar
