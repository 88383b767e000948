// ArrayWriter: the arrays of a node as parts of a grammar. Used by one thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/distinct_values.h"
#include "grammar/schema/item_states.h"
#include "grammar/schema/json_parts.h"
#include "grammar/schema/write_node.h"

namespace windrow::grammar {

class ArrayWriter {
 public:
  // All outlive this. `write_item` writes an item of these arrays.
  ArrayWriter(Conjunctions& conjunctions, JsonParts& parts, WriteNode write_item)
      : conjunctions_(conjunctions), parts_(parts), write_item_(std::move(write_item)) {}

  // A node without allowed values. Errors as Conjunctions::find(); kInvalid also: too many counts
  // or states, what contains says cannot be negated, items that differ and cannot be compared or
  // may use each other up.
  Result<Part> write(const Node& node);

 private:
  // Items one after the other; `rest` only where there is room for it.
  struct Items {
    std::vector<Part> prefix;
    std::optional<Part> rest;
    std::optional<uint32_t> count_max;
  };

  Result<Part> write_unique(const Node& node);
  Result<std::vector<NodeId>> unique_items(ArrayShape& shape);
  Result<void> check_all_left(const Node& node, const std::vector<NodeId>& items) const;
  Result<Part> write_plain(const Node& node);
  Result<Items> write_items(const ArrayShape& shape);
  Result<Part> write_counted(const Node& node);
  Result<std::vector<ItemOffer>> offers(const std::vector<ContainsShape>& counted,
                                        const Terms& item, size_t index);
  Result<std::optional<Part>> write_if_possible(const Terms& terms);

  Conjunctions& conjunctions_;
  JsonParts& parts_;
  WriteNode write_item_;
  const DistinctValues* distinct_ = nullptr;  // the items are these
};

}  // namespace windrow::grammar
