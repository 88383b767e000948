// DistinctValues: values of which no two may be equal, the items of a uniqueItems, as lexemes that
// must differ: each value has one text. One for each array; used by one thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/json_parts.h"

namespace windrow::grammar {

class DistinctValues {
 public:
  // Both outlive this.
  DistinctValues(Conjunctions& conjunctions, JsonParts& parts)
      : conjunctions_(conjunctions), parts_(parts) {}

  // The values of a node that is possible. kInvalid, with the pointer: arrays or objects that are
  // no enum; too many states.
  Result<Part> write(NodeId id);

  // How many values there are in all nodes written so far; nothing: more than an array will have.
  std::optional<uint32_t> count() const;

 private:
  Result<CharDfa> texts(NodeId id);
  Result<CharDfa> texts_of_shape(const Node& node);
  Result<CharDfa> literals(const std::vector<const boost::json::value*>& values);

  Conjunctions& conjunctions_;
  JsonParts& parts_;
  std::unordered_map<NodeId, Part> written_;
  std::unordered_map<std::string, std::string> spellings_;  // of values whose members have an order
  CharDfa all_;
};

}  // namespace windrow::grammar
