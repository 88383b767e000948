// ObjectWriter: the objects of a node as parts of a grammar. Used by one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/endings.h"
#include "grammar/schema/json_parts.h"
#include "grammar/schema/write_node.h"

namespace windrow::grammar {

class ObjectWriter {
 public:
  // All outlive this. `write_value` writes the value of a member of these objects.
  ObjectWriter(Conjunctions& conjunctions, JsonParts& parts, WriteNode write_value,
               PropertyOrder order)
      : conjunctions_(conjunctions),
        parts_(parts),
        write_value_(std::move(write_value)),
        order_(order),
        endings_(conjunctions) {}

  // A node without allowed values. Errors as Conjunctions::find(); kInvalid also: too many
  // patterns, demands or states.
  Result<Part> write(const Node& node);

 private:
  struct MemberParts {
    std::string name;
    bool required = false;
    Part value;
  };

  Result<Part> write_plain(const Node& node);
  Part write_wide(const std::vector<MemberParts>& members, const std::optional<Part>& undeclared);
  Result<Part> write_in_any_order(const Node& node);  // any_order_writer.cc
  Result<std::vector<MemberParts>> write_members(const Node& node);
  Result<std::optional<Part>> write_undeclared(const std::vector<NameClass>& classes,
                                               bool distinct);

  Conjunctions& conjunctions_;
  JsonParts& parts_;
  WriteNode write_value_;
  PropertyOrder order_;
  Endings endings_;
};

}  // namespace windrow::grammar
