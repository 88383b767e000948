// ItemStates: an array whose items are counted by what they fulfil, as parts of a grammar. A state
// is how many items there are and how many of them each count has; from each, the text behind it is
// one part. Knows nothing of schemas. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/schema/json_parts.h"

namespace windrow::grammar {

// An item, and the counts that it adds one to, as bits. If a count has no maximum, an item without
// its bit may fulfil it nevertheless; if it has one, it does not.
struct ItemOffer {
  uint32_t counts = 0;
  Part item;
  std::optional<uint32_t> texts;  // how many it has, where items must differ; nothing: enough
};

struct CountBounds {
  uint32_t min = 0;
  std::optional<uint32_t> max;
  uint32_t from = 0;  // items before this one are not counted, but may fulfil it
};

struct ItemRules {
  std::vector<std::vector<ItemOffer>> prefix;  // for each of the first items
  std::vector<ItemOffer> rest;                 // for each of the others
  std::vector<CountBounds> counts;             // up to 32
  uint32_t items_min = 0;
  std::optional<uint32_t> items_max;
};

class ItemStates {
 public:
  // `parts` outlives this.
  ItemStates(JsonParts& parts, ItemRules rules) : parts_(parts), rules_(std::move(rules)) {}

  // Nothing: there is no such array. kInvalid, a message without a pointer: too many states; or,
  // where items must differ, those so far may use up the texts of one that must follow.
  Result<std::optional<Part>> write();

 private:
  using Counts = uint32_t;  // the number of items of each count, in mixed radix

  // `sure`: it has a text whatever the items so far are.
  struct Tail {
    Part part;
    bool sure = true;
  };
  using Tails = std::unordered_map<Counts, Tail>;

  Result<std::optional<Part>> write_repeats();
  Result<std::vector<std::vector<Counts>>> reachable() const;
  std::optional<Tail> tail(size_t level, Counts counts, const Tails& next);
  std::optional<Tail> settled_tail(size_t level, Counts counts);
  bool is_left(const ItemOffer& offer, size_t level, Counts counts) const;
  bool settled(size_t level, Counts counts) const;
  bool fulfilled(Counts counts) const;
  std::optional<Counts> after(Counts counts, const ItemOffer& offer) const;
  uint32_t count(Counts counts, size_t i) const;
  std::span<const ItemOffer> offers(size_t level) const;
  size_t last_level() const;
  Part one_of(std::vector<Part> items);
  Part more(Part item, uint32_t min, std::optional<uint32_t> max);

  JsonParts& parts_;
  ItemRules rules_;
  std::vector<uint32_t> steps_;  // what one more item of a count adds to Counts
};

}  // namespace windrow::grammar
