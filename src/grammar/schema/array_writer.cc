#include "grammar/schema/array_writer.h"

#include <fmt/format.h>

#include <algorithm>
namespace windrow::grammar {
namespace {

constexpr size_t kCountsMax = 4;
constexpr uint32_t kUniqueItemsMax = 1'000;  // more than an array has that need not have more

bool counts_items(const ContainsShape& contains) {
  return contains.min > 0 || contains.max;
}

// Where there are more values, those of the items so far never matter.
uint32_t values_max(const ArrayShape& shape) {
  uint64_t most = std::max<uint64_t>({kUniqueItemsMax, shape.count_min, shape.prefix.size()});
  for (const ContainsShape& contains : shape.contains)
    most = std::max(most, uint64_t{contains.min} + contains.from);
  return static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX - 1));
}

}  // namespace

Result<Part> ArrayWriter::write(const Node& node) {
  const ArrayShape& shape = node.arrays;
  if (shape.unique && (!shape.count_max || *shape.count_max > 1)) return write_unique(node);
  return std::ranges::any_of(shape.contains, counts_items) ? write_counted(node)
                                                           : write_plain(node);
}

// The same arrays with items that differ. There cannot be more than there are values.
Result<Part> ArrayWriter::write_unique(const Node& node) {
  Node distinct = node;
  ArrayShape& shape = distinct.arrays;
  shape.unique = false;
  DistinctValues values(conjunctions_, parts_, node.pointer, values_max(shape));
  ArrayWriter writer(conjunctions_, parts_, [&](NodeId id) { return values.write(id); });
  writer.distinct_ = &values;
  Result<std::vector<NodeId>> items = writer.unique_items(shape);
  if (!items) return items.error();
  const auto most = values.count();
  if (most && shape.count_min > *most) {
    return parts_.no_text(schema_error(
        node.pointer, fmt::format("at least {} items that differ are demanded, and there are only "
                                  "{} values; make minItems smaller or allow more values",
                                  shape.count_min, *most)));
  }
  if (most) shape.count_max = std::min(shape.count_max.value_or(*most), *most);
  if (std::ranges::any_of(shape.contains, counts_items)) return writer.write_counted(distinct);
  if (Result<void> left = writer.check_all_left(distinct, *items); !left) return left.error();
  return writer.write_plain(distinct);
}

// The first items, and the others behind them if there may be some. Sets the maximum where there
// can be none.
Result<std::vector<NodeId>> ArrayWriter::unique_items(ArrayShape& shape) {
  std::vector<NodeId> items;
  for (uint32_t i = 0; i <= shape.prefix.size() && (!shape.count_max || i < *shape.count_max);
       ++i) {
    Result<NodeId> id = conjunctions_.find(i < shape.prefix.size() ? shape.prefix[i] : shape.rest);
    if (!id) return id.error();
    if (!conjunctions_.possible(*id)) {
      shape.count_max = i;
      break;
    }
    if (Result<Part> part = write_item_(*id); !part) return part.error();
    items.push_back(*id);
  }
  return items;
}

// Whether for each item that must be there, those before it leave some value. Otherwise they could
// be chosen so that none can follow: which ones can be chosen, an item does not say.
Result<void> ArrayWriter::check_all_left(const Node& node, const std::vector<NodeId>& items) const {
  const ArrayShape& shape = node.arrays;
  for (size_t i = 0; i < items.size() && i < shape.count_min; ++i) {
    if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
    const auto values = distinct_->count(items[i]);
    const bool is_rest = i == shape.prefix.size();
    size_t before = is_rest ? shape.count_min - 1 - i : 0;  // which may have the same values
    for (size_t j = 0; j < i && values; ++j)
      before += distinct_->may_overlap(items[j], items[i]) ? 1 : 0;
    if (!values || *values > before) continue;
    return schema_error(
        node.pointer,
        fmt::format(
            "uniqueItems with minItems {}: {} {} must be there and {} only {} values, which "
            "up to {} items before may have used up; allow more values, make minItems "
            "smaller, or leave uniqueItems out",
            shape.count_min, is_rest ? "items from index" : "the item with index", i,
            is_rest ? "have" : "has", *values, before));
  }
  return {};
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
Result<Part> ArrayWriter::write_plain(const Node& node) {
  const ArrayShape& shape = node.arrays;
  Result<Items> items = write_items(shape);
  if (!items) return items.error();
  const auto& [prefix, rest, most] = *items;
  GrammarBuilder& builder = parts_.builder();
  const auto count = static_cast<uint32_t>(prefix.size());
  if (shape.count_min > (rest ? most.value_or(UINT32_MAX) : count)) {
    return parts_.no_text(schema_error(
        node.pointer, fmt::format("at least {} items are demanded, and there cannot be so many",
                                  shape.count_min)));
  }
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
    rules.counts.push_back({contains.min, contains.max, contains.from});
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
  if (!part) return schema_error(node.pointer, part.error());
  if (*part) return **part;
  return parts_.no_text(schema_error(
      node.pointer, "no number of items is within the bounds of contains, minItems and maxItems"));
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
    if (!*part) continue;
    offers.push_back({.counts = set, .item = **part});
    if (distinct_ != nullptr) offers.back().texts = distinct_->count(*conjunctions_.find(terms));
  }
  return offers;
}

}  // namespace windrow::grammar
