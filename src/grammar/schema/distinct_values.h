// DistinctValues: values of which no two may be equal, the items of a uniqueItems, as lexemes that
// must differ: each value has one text. One for each array; used by one thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/json_parts.h"

namespace windrow::grammar {

class DistinctValues {
 public:
  // All outlive this. The items of the array at `pointer`. More than `values_max` values are not
  // counted.
  DistinctValues(Conjunctions& conjunctions, JsonParts& parts, std::string_view pointer,
                 uint32_t values_max)
      : conjunctions_(conjunctions), parts_(parts), pointer_(pointer), values_max_(values_max) {}

  // The values of a node that is possible. kInvalid, with the pointer: arrays or objects that are
  // not finitely many kinds of texts (StructuredTexts); too many states.
  Result<Part> write(NodeId id);

  // How many values there are in all nodes written so far; nothing: more than `values_max`.
  std::optional<uint32_t> count() const;

  // The same of one node, which is written; whether two nodes have a value in common.
  std::optional<uint32_t> count(NodeId id) const;
  bool may_overlap(NodeId left, NodeId right) const;

 private:
  using Order = std::vector<std::string>;  // names of members

  Result<CharDfa> texts(NodeId id);
  bool has_structured(NodeId id) const;
  Result<CharDfa> scalars(const Node& shape);
  CharDfa literals(const std::vector<const boost::json::value*>& values);
  std::string spelled(const boost::json::value& value);
  bool orders_agree() const;

  Conjunctions& conjunctions_;
  JsonParts& parts_;
  struct Written {
    Part part;
    CharDfa texts;
  };

  std::string_view pointer_;
  uint32_t values_max_;
  std::unordered_map<NodeId, Written> written_;
  std::unordered_map<std::string, std::string> spellings_;  // of arrays and objects of an enum
  std::vector<Order> literal_orders_;
  std::vector<Order> orders_;  // of objects that are no enum
  bool few_ = true;            // each node written so far has few values
  CharDfa all_;                // then: the texts of all of them
};

}  // namespace windrow::grammar
