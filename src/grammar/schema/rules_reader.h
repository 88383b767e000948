// The keywords of one object of a schema that say something of a value by themselves; what they
// hold further schemas for, only gets its place here. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/schema/drafts.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// Where the schemas within a schema go.
class Places {
 public:
  virtual SchemaId place(const boost::json::value& value, std::string pointer) = 0;

 protected:
  ~Places() = default;
};

struct RulesOptions {
  const SchemaOptions& schema;
  Draft draft = Draft::k2020;

  // Whether an unknown member only holds what references lead to.
  std::function<bool(std::string_view)> container;
};

// Nothing: the object demands nothing by itself. kInvalid: a keyword cannot be enforced, is not
// written right, or is unknown and options.schema or the looks of it refuse it.
Result<std::optional<Rules>> read_rules(const boost::json::object& object, std::string_view pointer,
                                        const RulesOptions& options, Places& places);

}  // namespace windrow::grammar
