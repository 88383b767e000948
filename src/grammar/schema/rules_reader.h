// The keywords of one object of a schema that say something of a value by themselves; what they
// hold further schemas for, only gets its place here. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
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
  bool open = false;  // see SchemaOptions

  // Whether an unknown member only holds what references lead to.
  std::function<bool(std::string_view)> container;
};

// Nothing: the object demands nothing by itself. kInvalid: a keyword is unknown, cannot be
// enforced, or is not written right.
Result<std::optional<Rules>> read_rules(const boost::json::object& object, std::string_view pointer,
                                        const RulesOptions& options, Places& places);

}  // namespace windrow::grammar
