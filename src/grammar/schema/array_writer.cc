#include "grammar/schema/array_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema/distinct_values.h"

namespace windrow::grammar {
namespace {

constexpr size_t kCountsMax = 4;

bool counts_items(const ContainsShape& contains) {
  return contains.min > 0 || contains.max;
}

}  // namespace

Result<Part> ArrayWriter::write(const Node& node) {
  const ArrayShape& shape = node.arrays;
  if (shape.unique && (!shape.count_max || *shape.count_max > 1)) return write_unique(node);
  return std::ranges::any_of(shape.contains, counts_items) ? write_counted(node)
                                                           : write_plain(shape);
}

// The same arrays with items that differ. There cannot be more than there are values.
Result<Part> ArrayWriter::write_unique(const Node& node) {
  Node distinct = node;
  ArrayShape& shape = distinct.arrays;
  shape.unique = false;
  DistinctValues values(conjunctions_, parts_);
  ArrayWriter writer(conjunctions_, parts_, [&](NodeId id) { return values.write(id); });
  Result<Part> part = writer.write(distinct);
  if (!part) return part;
  const auto most = values.count();
  if (!most || (shape.count_max && *shape.count_max <= *most)) return part;
  shape.count_max = most;
  return shape.count_min > *most ? parts_.no_text() : writer.write(distinct);
}

Result<std::optional<Part>> ArrayWriter::write_if_possible(const Terms& terms) {
  Result<NodeId> id = conjunctions_.find(terms);
  if (!id) return id.error();
  if (!conjunctions_.possible(*id)) return std::optional<Part>();
  Result<Part> item = write_item_(*id);
  if (!item) return item.error();
  return std::optional(parts_.spaced(*item));
}

// --- without counts ------------------------------------------------------------------------------

Result<ArrayWriter::Items> ArrayWriter::write_items(const ArrayShape& shape) {
  Items items{.count_max = shape.count_max};
  for (const Terms& terms : shape.prefix) {
    if (items.count_max && items.prefix.size() >= *items.count_max) break;
    Result<std::optional<Part>> item = write_if_possible(terms);
    if (!item) return item.error();
    if (!*item) {
      items.count_max = static_cast<uint32_t>(items.prefix.size());
      break;
    }
    items.prefix.push_back(**item);
  }
  if (items.count_max && *items.count_max <= items.prefix.size()) return items;
  Result<std::optional<Part>> rest = write_if_possible(shape.rest);
  if (!rest) return rest.error();
  items.rest = *rest;
  return items;
}

// The items that have rules of their own one by one, then all others as a repetition.
Result<Part> ArrayWriter::write_plain(const ArrayShape& shape) {
  Result<Items> items = write_items(shape);
  if (!items) return items.error();
  const auto& [prefix, rest, most] = *items;
  GrammarBuilder& builder = parts_.builder();
  const auto count = static_cast<uint32_t>(prefix.size());
  if (shape.count_min > (rest ? most.value_or(UINT32_MAX) : count)) return parts_.no_text();
  const uint32_t least = shape.count_min > count ? shape.count_min - count : 0;
  const Part opening = parts_.mark("[");
  const Part closing = parts_.mark("]");
  const Part comma = parts_.mark(",");
  const auto more = [&](Part item, uint32_t from, std::optional<uint32_t> to) {
    return builder.sequence({builder.repeat(builder.sequence({comma, item}), from, to), closing});
  };
  std::optional<uint32_t> left;
  if (most) left = *most - count;
  if (prefix.empty()) {
    if (!rest) return builder.sequence({opening, closing});
    if (left) *left -= 1;
    const Part some = builder.sequence({*rest, more(*rest, least > 0 ? least - 1 : 0, left)});
    return builder.sequence({opening, least > 0 ? some : builder.choice({closing, some})});
  }
  Part tail = rest ? more(*rest, least, left) : closing;
  for (uint32_t i = count; i-- > 0;) {
    const Part with =
        i == 0 ? builder.sequence({prefix[i], tail}) : builder.sequence({comma, prefix[i], tail});
    tail = i < shape.count_min ? with : builder.choice({closing, with});
  }
  return builder.sequence({opening, tail});
}

// --- contains ------------------------------------------------------------------------------------

Result<Part> ArrayWriter::write_counted(const Node& node) {
  const ArrayShape& shape = node.arrays;
  std::vector<ContainsShape> counted = shape.contains;
  std::erase_if(counted, [](const ContainsShape& contains) { return !counts_items(contains); });
  if (counted.size() > kCountsMax) {
    return schema_error(node.pointer, fmt::format("{} contains hold together for one array; up to "
                                                  "{} are handled",
                                                  counted.size(), kCountsMax));
  }
  ItemRules rules{.items_min = shape.count_min, .items_max = shape.count_max};
  size_t prefix = shape.prefix.size();
  for (const ContainsShape& contains : counted) {
    rules.counts.push_back({contains.min, contains.max});
    prefix = std::max<size_t>(prefix, contains.from);
  }
  if (shape.count_max) prefix = std::min<size_t>(prefix, *shape.count_max);
  for (size_t i = 0; i <= prefix; ++i) {
    if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
    const Terms& item = i < shape.prefix.size() ? shape.prefix[i] : shape.rest;
    Result<std::vector<ItemOffer>> found = offers(counted, item, i);
    if (!found) return found.error();
    if (i == prefix) {
      rules.rest = *std::move(found);
    } else {
      rules.prefix.push_back(*std::move(found));
    }
  }
  Result<std::optional<Part>> part = ItemStates(parts_, std::move(rules)).write();
  if (!part) return schema_error(node.pointer, part.error().message);
  return part->value_or(parts_.no_text());
}

// The item number `index` for each set of counts that it may add to. Where a count has a maximum,
// an item either fulfils what it counts or the negation of that.
Result<std::vector<ItemOffer>> ArrayWriter::offers(const std::vector<ContainsShape>& counted,
                                                   const Terms& item, size_t index) {
  std::vector<ItemOffer> offers;
  for (uint32_t set = 0; set < 1U << counted.size(); ++set) {
    Terms terms = item;
    bool wanted = true;
    for (size_t i = 0; i < counted.size() && wanted; ++i) {
      const ContainsShape& contains = counted[i];
      const bool counts = (set >> i & 1U) != 0;
      if (index < contains.from || contains.max == 0U) wanted = !counts;
      if (index < contains.from || !wanted) continue;
      if (counts) {
        terms.insert(terms.end(), contains.item.begin(), contains.item.end());
      } else if (contains.max) {
        const Terms negated = conjunctions_.negated(contains.item);
        terms.insert(terms.end(), negated.begin(), negated.end());
      }
    }
    if (!wanted) continue;
    Result<std::optional<Part>> part = write_if_possible(terms);
    if (!part) return part.error();
    if (*part) offers.push_back({set, **part});
  }
  return offers;
}

}  // namespace windrow::grammar
