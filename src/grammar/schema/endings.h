// Endings: which nodes have a value that ends: one that does not have to hold another value of its
// kind, which has to hold another one. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {

class Endings {
 public:
  // `conjunctions` outlives this.
  explicit Endings(Conjunctions& conjunctions) : conjunctions_(conjunctions) {}

  // Whether some value of the node ends, as far as the types, required members, items and numbers
  // of members decide that; demands of some member do not. Looks at what has to be there, once.
  // Errors as Conjunctions::find.
  Result<bool> ends(NodeId id);

  // Of a node that does not end: where its values come back to themselves. Nothing: they do not,
  // there are too few of them.
  std::optional<std::string> endless_at(NodeId id) const;

 private:
  // A value that ends has all values of one way, and enough of those that are counted.
  struct Way {
    std::vector<NodeId> all;
    std::vector<std::pair<NodeId, uint32_t>> counted;  // and how many members may have it
    uint32_t count_min = 0;
  };
  struct Known {
    bool ends = false;
    std::vector<Way> ways;  // none, if it ends by itself
  };

  Result<Known> look_at(NodeId id);
  Result<Way> object_way(const Node& node);
  Result<Way> array_way(const Node& node);
  bool holds(const Way& way) const;
  std::optional<NodeId> endless_within(NodeId id) const;

  Conjunctions& conjunctions_;
  std::unordered_map<NodeId, Known> known_;
};

}  // namespace windrow::grammar
