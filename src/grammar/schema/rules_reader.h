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

  // A node that no place of the text is by itself.
  virtual SchemaId add(SchemaNode node) = 0;

  // Called between the steps of a long list. kInvalid: there are too many places. kUnavailable: the
  // work is given up.
  virtual Result<void> check() = 0;

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

}  // namespace windrow::grammar
