// GrammarWriter: writes nodes of Conjunctions as parts of a grammar; recursion becomes rules. Used
// by one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/schema/array_writer.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/json_parts.h"
#include "grammar/schema/object_writer.h"

namespace windrow::grammar {

class GrammarWriter {
 public:
  // Both outlive this.
  GrammarWriter(Conjunctions& conjunctions, JsonParts& parts, PropertyOrder order)
      : conjunctions_(conjunctions),
        parts_(parts),
        arrays_(conjunctions, parts, [this](NodeId id) { return write(id); }),
        objects_(conjunctions, parts, [this](NodeId id) { return write(id); }, order) {}
  GrammarWriter(const GrammarWriter&) = delete;
  GrammarWriter& operator=(const GrammarWriter&) = delete;

  // The texts of a node that is possible, and of all nodes it refers to. Errors as
  // Conjunctions::find().
  Result<Part> write_root(NodeId id);

  // The same without its strings; nothing if it has no other values.
  Result<std::optional<Part>> write_others(NodeId id);

 private:
  struct Written {
    std::optional<Part> part;
    std::optional<Part> rule;  // made when recursion comes back to a node that is being written
    bool open = false;         // being written, or in waiting_
  };

  Result<std::optional<Part>> others_of(NodeId id);
  Result<void> check_written(NodeId id);
  Result<Part> write(NodeId id);
  Result<void> write_waiting();
  Result<Part> write_body(NodeId id);
  Result<Part> write_shape(const Node& node);
  Result<Part> write_number(const Node& node);
  Result<Part> write_bounds(const NumberBounds& bounds, bool integers);
  Result<Part> write_string(const Node& node);
  Result<Part> write_array(const Node& node) { return arrays_.write(node); }
  Result<Part> write_object(const Node& node) { return objects_.write(node); }

  Conjunctions& conjunctions_;
  JsonParts& parts_;
  ArrayWriter arrays_;
  ObjectWriter objects_;
  std::unordered_map<NodeId, Written> written_;
  std::vector<NodeId> waiting_;  // nested too deep to be written recursively
  std::map<std::pair<NumberBounds, bool>, Part> numbers_;  // true: integers
  std::map<const CountedTexts*, Part> strings_;
  size_t depth_ = 0;
};

}  // namespace windrow::grammar
