// Reads the keywords of one object of a schema that restrict a value. Schemas inside of them are
// not read, but registered with Places. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/schema/references.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// Takes the schemas within a schema, to read them later.
class Places {
 public:
  virtual SchemaId place(const boost::json::value& value, std::string pointer) = 0;

 protected:
  ~Places() = default;
};

struct RulesOptions {
  const SchemaOptions& schema;
  Draft draft = Draft::k2020;

  // Whether an unknown member is a container of targets of references.
  std::function<bool(std::string_view)> container;
};

// Nothing if the object restricts nothing by itself. kInvalid: a keyword cannot be enforced, has a
// wrong value, or is unknown and refused by options.schema or because it looks misspelt.
Result<std::optional<Rules>> read_rules(const boost::json::object& object, std::string_view pointer,
                                        const RulesOptions& options, Places& places);

// The effect of a `format`.
struct FormatMeaning {
  enum class Use : uint8_t {
    kTexts,         // strings are texts of format_dfa()
    kIntegers,      // integers are between `min` and `max`
    kNothing,       // known, and allows everything here
    kNeedsInteger,  // a format of integers, but other types are allowed
    kUnknown,
  };

  Use use = Use::kNothing;
  std::string_view min;  // decimal
  std::string_view max;
};

// `types`: the types that `object`, the schema with this format, allows.
FormatMeaning format_meaning(std::string_view name, Types types, const boost::json::object& object);

}  // namespace windrow::grammar
