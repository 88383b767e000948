#include "grammar/schema/item_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace windrow::grammar {
namespace {

constexpr size_t kItemStatesMax = 20'000;

// More items of a count are as many.
uint32_t most(const CountBounds& bounds) {
  return bounds.max.value_or(bounds.min);
}

Error too_many_item_states() {
  return {ErrorKind::kInvalid,
          fmt::format("contains with these bounds on items needs more than {} states; make "
                      "minContains, maxContains, minItems and maxItems smaller",
                      kItemStatesMax)};
}

Error may_be_used_up() {
  return {ErrorKind::kInvalid,
          "uniqueItems, together with contains and minItems, demands items of so few values that "
          "those before them may have used all of them up; allow more values, make minItems, "
          "minContains or what maxContains excludes smaller, or leave uniqueItems out"};
}

}  // namespace

Result<std::optional<Part>> ItemStates::write() {
  uint64_t states = 1;
  for (const CountBounds& bounds : rules_.counts) {
    if (bounds.max && *bounds.max < bounds.min) return std::optional<Part>();
    steps_.push_back(static_cast<uint32_t>(states));
    states *= uint64_t{most(bounds)} + 1;
    if (states > kItemStatesMax) return too_many_item_states();
  }
  const bool repeats = rules_.counts.size() == 1 && rules_.prefix.empty() && !rules_.items_max &&
                       rules_.items_min <= std::max(1U, rules_.counts.front().min);
  if (repeats) return write_repeats();
  Result<std::vector<std::vector<Counts>>> levels = reachable();
  if (!levels) return levels.error();
  Tails next;
  for (size_t level = levels->size(); level-- > 0;) {
    Tails tails;
    // From the largest on: on the last level, states lead to larger ones beside them.
    for (size_t i = (*levels)[level].size(); i-- > 0;) {
      const Counts counts = (*levels)[level][i];
      const bool circles = level == last_level() && !rules_.items_max;
      const auto found = tail(level, counts, circles ? tails : next);
      if (!found) continue;
      if (!found->sure) return may_be_used_up();
      tails.emplace(counts, *found);
    }
    next = std::move(tails);
  }
  const auto start = next.find(0);
  if (start == next.end()) return std::optional<Part>();
  return std::optional(parts_.builder().sequence({parts_.mark("["), start->second.part}));
}

// One count, and no other bounds that matter: others* (counted others*){min,max}, which costs the
// same for every bound.
Result<std::optional<Part>> ItemStates::write_repeats() {
  GrammarBuilder& builder = parts_.builder();
  const CountBounds bounds = rules_.counts.front();
  std::vector<Part> counted;
  std::vector<Part> others;
  for (const ItemOffer& offer : rules_.rest) {
    (offer.counts != 0 ? counted : others).push_back(offer.item);
    if (offer.counts != 0 && offer.texts && *offer.texts < bounds.min) return may_be_used_up();
  }
  const Part closing = parts_.mark("]");
  std::vector<Part> choices;
  if (bounds.min == 0 && rules_.items_min == 0) choices.push_back(closing);
  std::optional<Part> other;
  std::vector<Part> loop;  // what may follow any item, in a sequence
  if (!others.empty()) {
    other = one_of(std::move(others));
    loop.push_back(more(*other, 0, std::nullopt));
  }
  std::optional<Part> more_counted;
  if (!counted.empty() && most(bounds) > 0) {
    const Part item = one_of(std::move(counted));
    std::vector<Part> first{item};
    std::vector<Part> later{parts_.mark(","), item};
    first.insert(first.end(), loop.begin(), loop.end());
    later.insert(later.end(), loop.begin(), loop.end());
    more_counted = builder.sequence(std::move(later));
    first.push_back(
        builder.repeat(*more_counted, bounds.min > 0 ? bounds.min - 1 : 0, most(bounds) - 1));
    first.push_back(closing);
    choices.push_back(builder.sequence(std::move(first)));
  }
  if (other && (more_counted || bounds.min == 0)) {
    std::vector<Part> sequence{*other};
    sequence.insert(sequence.end(), loop.begin(), loop.end());
    if (more_counted) sequence.push_back(builder.repeat(*more_counted, bounds.min, most(bounds)));
    sequence.push_back(closing);
    choices.push_back(builder.sequence(std::move(sequence)));
  }
  if (choices.empty()) return std::optional<Part>();
  return std::optional(builder.sequence({parts_.mark("["), one_of(std::move(choices))}));
}

// The states of each level, sorted: those after so many items. On the last one are all after more.
Result<std::vector<std::vector<ItemStates::Counts>>> ItemStates::reachable() const {
  std::vector<std::vector<Counts>> levels;
  std::set<Counts> level{0};
  size_t states = 0;
  for (size_t i = 0; i <= last_level() && !level.empty(); ++i) {
    const bool circles = i == last_level() && !rules_.items_max;
    std::set<Counts> next;
    // States that are inserted on the way are larger.
    for (auto counts = level.begin(); counts != level.end(); ++counts) {
      if (settled(i, *counts)) continue;
      for (const ItemOffer& offer : offers(i)) {
        if (const auto to = after(*counts, offer)) (circles ? level : next).insert(*to);
      }
    }
    states += level.size();
    if (states > kItemStatesMax) return too_many_item_states();
    levels.emplace_back(level.begin(), level.end());
    level = std::move(next);
  }
  return levels;
}

// The text after `level` items; nothing if there is none. `next`: those that one more item leads
// to.
std::optional<ItemStates::Tail> ItemStates::tail(size_t level, Counts counts, const Tails& next) {
  if (settled(level, counts)) return settled_tail(level, counts);
  GrammarBuilder& builder = parts_.builder();
  const bool circles = level == last_level() && !rules_.items_max;
  std::vector<Part> choices;
  std::vector<Part> stays;
  bool sure = level >= rules_.items_min && fulfilled(counts);
  if (sure) choices.push_back(parts_.mark("]"));
  for (const ItemOffer& offer : offers(level)) {
    const auto to = after(counts, offer);
    if (!to) continue;
    if (circles && *to == counts) {
      stays.push_back(offer.item);
      continue;
    }
    const auto rest = next.find(*to);
    if (rest == next.end()) continue;
    const Part behind = rest->second.part;
    choices.push_back(level == 0 ? builder.sequence({offer.item, behind})
                                 : builder.sequence({parts_.mark(","), offer.item, behind}));
    sure = sure || (rest->second.sure && is_left(offer, level, counts));
  }
  if (choices.empty()) return std::nullopt;
  const Part part = one_of(std::move(choices));
  if (stays.empty()) return Tail{part, sure};
  const Part before = more(one_of(std::move(stays)), 0, std::nullopt);
  return Tail{builder.sequence({before, part}), sure};
}

// Whether a text of the offer is left behind `level` items, whatever they are. They are read as
// fulfilling all that they fulfil, so no more of them have one of its texts than
// - are counted by what it counts, or come before that counts;
// - are not counted by what it must not fulfil.
bool ItemStates::is_left(const ItemOffer& offer, size_t level, Counts counts) const {
  if (!offer.texts) return true;
  const bool circles = level == last_level() && !rules_.items_max;  // then there may be more items
  size_t before = circles ? SIZE_MAX : level;
  for (size_t i = 0; i < rules_.counts.size(); ++i) {
    const CountBounds& bounds = rules_.counts[i];
    const size_t counted = count(counts, i);
    if ((offer.counts >> i & 1U) != 0) {
      before = std::min(before, counted + bounds.from);
    } else if (bounds.max && !circles) {
      before = std::min(before, level - counted);
    }
  }
  return *offer.texts > before;
}

// The same where nothing is left to count but the items.
std::optional<ItemStates::Tail> ItemStates::settled_tail(size_t level, Counts counts) {
  if (!fulfilled(counts)) return std::nullopt;
  const auto items = static_cast<uint32_t>(level);
  const uint32_t min = rules_.items_min > items ? rules_.items_min - items : 0;
  std::optional<uint32_t> max;
  if (rules_.items_max) max = *rules_.items_max - items;
  if (max && *max < min) return std::nullopt;
  std::vector<Part> stays;
  bool sure = min == 0;
  for (const ItemOffer& offer : rules_.rest) {
    if (!after(counts, offer)) continue;
    stays.push_back(offer.item);
    sure = sure || is_left(offer, level + min - 1, counts);
  }
  const Part closing = parts_.mark("]");
  if (stays.empty() || (max && *max == 0)) {
    return min == 0 ? std::optional(Tail{closing}) : std::nullopt;
  }
  const Part rest = more(one_of(std::move(stays)), min, max);
  return Tail{parts_.builder().sequence({rest, closing}), sure};
}

bool ItemStates::settled(size_t level, Counts counts) const {
  if (level == 0 || level < rules_.prefix.size()) return false;
  return std::ranges::all_of(rules_.rest, [&](const ItemOffer& offer) {
    const auto to = after(counts, offer);
    return !to || *to == counts;
  });
}

bool ItemStates::fulfilled(Counts counts) const {
  for (size_t i = 0; i < rules_.counts.size(); ++i) {
    if (count(counts, i) < rules_.counts[i].min) return false;
  }
  return true;
}

// Nothing if such an item may not follow, or if another offer has all its texts.
std::optional<ItemStates::Counts> ItemStates::after(Counts counts, const ItemOffer& offer) const {
  Counts to = counts;
  for (size_t i = 0; i < rules_.counts.size(); ++i) {
    if ((offer.counts >> i & 1U) == 0) continue;
    if (count(counts, i) == most(rules_.counts[i])) return std::nullopt;
    to += steps_[i];
  }
  return to;
}

uint32_t ItemStates::count(Counts counts, size_t i) const {
  return counts / steps_[i] % (most(rules_.counts[i]) + 1);
}

std::span<const ItemOffer> ItemStates::offers(size_t level) const {
  if (rules_.items_max && level >= *rules_.items_max) return {};
  return level < rules_.prefix.size() ? rules_.prefix[level] : rules_.rest;
}

size_t ItemStates::last_level() const {
  if (rules_.items_max) return *rules_.items_max;
  return std::max<size_t>({1, rules_.prefix.size(), rules_.items_min});
}

Part ItemStates::one_of(std::vector<Part> items) {
  return items.size() == 1 ? items.front() : parts_.builder().choice(std::move(items));
}

Part ItemStates::more(Part item, uint32_t min, std::optional<uint32_t> max) {
  return parts_.builder().repeat(parts_.builder().sequence({parts_.mark(","), item}), min, max);
}

}  // namespace windrow::grammar
