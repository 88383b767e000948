#include "grammar/schema/counted_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "grammar/schema/single_spelling.h"

namespace windrow::grammar {
namespace {

constexpr size_t kDemandsMax = 4;

// With fewer names, members that do not meet a demand could use them all up.
constexpr uint32_t kFewNames = 1'000;

uint32_t few_names(const ObjectShape& shape) {
  return std::max(kFewNames, shape.count_min);
}

}  // namespace

Result<Part> CountedObject::write() {
  if (Result<void> read = read_demands(); !read) return read.error();
  for (const Member& member : node_.objects.members) {
    if (Result<void> added = add_declared(member); !added) return added.error();
  }
  if (Result<void> added = add_undeclared(); !added) return added.error();
  rules_.demands = (1U << demands_.size()) - 1;
  rules_.count_min = node_.objects.count_min;
  rules_.count_max = node_.objects.count_max;
  drop_useless_bounds();
  MemberStates states(parts_.builder(), std::move(rules_), parts_.mark("}"));
  Result<std::optional<Part>> members = states.write();
  if (!members) return schema_error(node_.pointer, members.error());
  if (!*members) {
    return parts_.no_text(schema_error(
        node_.pointer,
        "no object has enough members, or none that breaks a negated rule: make minProperties "
        "smaller, or allow more names in properties or propertyNames"));
  }
  return parts_.builder().sequence({parts_.mark("{"), **members});
}

// --- demands -------------------------------------------------------------------------------------

Result<void> CountedObject::read_demands() {
  const std::vector<SomeMemberShape>& all = node_.objects.some;
  if (all.size() > kDemandsMax) {
    return schema_error(node_.pointer,
                        fmt::format("{} negated rules for members hold together for one object; up "
                                    "to {} are handled",
                                    all.size(), kDemandsMax));
  }
  for (const SomeMemberShape& some : all) {
    Result<std::optional<CharDfa>> names = names_of(some);
    if (!names) return schema_error(node_.pointer, names.error());
    Demand demand{.names = *std::move(names)};
    if (some.rule->value) demand.value = some.term(*some.rule->value);
    demand.few_names = demand.names && texts_count(*demand.names, few_names(node_.objects));
    demands_.push_back(std::move(demand));
  }
  return {};
}

Result<std::optional<CharDfa>> CountedObject::names_of(const SomeMemberShape& some) {
  const SomeMember& rule = *some.rule;
  std::optional<CharDfa> names;
  const auto keep = [&](Result<CharDfa> kept) -> Result<void> {
    if (!kept) return kept.error();
    names = *std::move(kept);
    return {};
  };
  if (rule.pattern) {
    Result<const CharDfa*> pattern = conjunctions_.automata().pattern(*rule.pattern);
    if (!pattern) return pattern.error();
    names = **pattern;
  }
  if (rule.name) {
    Result<NodeId> id = conjunctions_.find({some.term(*rule.name)});
    if (!id) return id.error();
    Result<CharDfa> valid = string_texts(conjunctions_, *id);
    if (valid && names) valid = names->intersect(*valid);
    if (Result<void> kept = keep(std::move(valid)); !kept) return kept.error();
  }
  if (!rule.names_not.empty()) {
    const std::vector<std::string_view> declared(rule.names_not.begin(), rule.names_not.end());
    const CharDfa all = names.value_or(CharDfa::any_text());
    const Result<CharDfa> taken =
        CharDfa::literals(declared, CharDfa::kStatesMax, conjunctions_.give_up());
    if (!taken) return taken.error();
    if (Result<void> kept = keep(all.without(*taken)); !kept) return kept.error();
  }
  for (const std::string& text : rule.patterns_not) {
    Result<const CharDfa*> pattern = conjunctions_.automata().pattern(text);
    if (!pattern) return pattern.error();
    const CharDfa all = names.value_or(CharDfa::any_text());
    if (Result<void> kept = keep(all.without(**pattern)); !kept) return kept.error();
  }
  return names;
}

// The values of members that the rules of `terms` hold for, and whose name is one of `demands`:
// those that are just valid, and for each set of demands those that meet it on purpose.
Result<std::vector<CountedObject::ValueOffer>> CountedObject::offers(const Terms& terms,
                                                                     uint32_t demands) {
  std::vector<ValueOffer> offers;
  Result<NodeId> plain = conjunctions_.find(terms);
  if (!plain) return plain.error();
  if (!conjunctions_.possible(*plain)) return offers;
  uint32_t always = 0;
  for (size_t i = 0; i < demands_.size(); ++i) {
    if ((demands >> i & 1U) == 0) continue;
    Terms both = terms;
    if (demands_[i].value) both.push_back(*demands_[i].value);
    Result<NodeId> id = conjunctions_.find(both);
    if (!id) return id.error();
    if (*id == *plain) always |= 1U << i;
    if (!conjunctions_.possible(*id)) demands &= ~(1U << i);
  }
  for (uint32_t set = 0; set < 1U << demands_.size(); ++set) {
    if ((set & (always | ~demands)) != 0) continue;
    Terms all = terms;
    for (size_t i = 0; i < demands_.size(); ++i) {
      if ((set >> i & 1U) != 0) all.push_back(*demands_[i].value);
    }
    Result<NodeId> id = conjunctions_.find(all);
    if (!id) return id.error();
    if (!conjunctions_.possible(*id)) continue;
    Result<Part> value = write_value_(*id);
    if (!value) return value.error();
    offers.push_back({always | set, set, parts_.spaced(*value)});
  }
  return offers;
}

// --- members -------------------------------------------------------------------------------------

Result<void> CountedObject::add_declared(const Member& member) {
  Result<std::optional<Terms>> terms = conjunctions_.member_terms(node_.objects, member.name);
  if (!terms) return terms.error();
  if (!*terms && !member.required) return {};
  DeclaredMember declared{.required = member.required};
  if (*terms) {
    uint32_t demands = 0;
    for (size_t i = 0; i < demands_.size(); ++i) {
      const auto& names = demands_[i].names;
      if (!names || names->contains(member.name)) demands |= 1U << i;
    }
    Result<std::vector<ValueOffer>> values = offers(**terms, demands);
    if (!values) return values.error();
    GrammarBuilder& builder = parts_.builder();
    for (const ValueOffer& offer : *values) {
      declared.offers.push_back(
          {.meets = offer.meets,
           .on_purpose = offer.on_purpose,
           .first = builder.sequence({parts_.name(member.name), offer.value}),
           .later = builder.sequence({parts_.comma_name(member.name), offer.value})});
    }
  }
  if (!declared.offers.empty() || member.required) rules_.declared.push_back(std::move(declared));
  return {};
}

Result<void> CountedObject::add_undeclared() {
  Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node_);
  if (!classes) return classes.error();
  for (const NameClass& names : *classes) {
    Result<std::vector<NameCell>> cells = split(names);
    if (!cells) return schema_error(node_.pointer, cells.error());
    for (const NameCell& cell : *cells) {
      if (Result<void> added = add_cell(cell, names.terms); !added) return added;
    }
  }
  if (!any_name_) rules_.undeclared_max = texts_count(undeclared_names_, few_names(node_.objects));
  return {};
}

Result<std::vector<CountedObject::NameCell>> CountedObject::split(const NameClass& names) const {
  std::vector<NameCell> cells{{names.names, 0}};
  for (size_t i = 0; i < demands_.size(); ++i) {
    std::vector<NameCell> parts;
    for (NameCell& cell : cells) {
      if (!demands_[i].names) {
        parts.push_back({std::move(cell.names), cell.demands | 1U << i});
        continue;
      }
      const CharDfa all = cell.names.value_or(CharDfa::any_text());
      Result<CharDfa> inside = all.intersect(*demands_[i].names);
      if (!inside) return inside.error();
      Result<CharDfa> outside = all.without(*demands_[i].names);
      if (!outside) return outside.error();
      if (!inside->empty()) parts.push_back({*std::move(inside), cell.demands | 1U << i});
      if (!outside->empty()) parts.push_back({*std::move(outside), cell.demands});
    }
    cells = std::move(parts);
  }
  return cells;
}

Result<void> CountedObject::add_cell(const NameCell& cell, const Terms& terms) {
  if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
  Result<std::vector<ValueOffer>> values = offers(terms, cell.demands);
  if (!values) return values.error();
  if (values->empty()) return {};
  if (cell.names) {
    Result<CharDfa> all = undeclared_names_.unite(*cell.names);
    if (!all) return schema_error(node_.pointer, all.error());
    undeclared_names_ = *std::move(all);
  }
  any_name_ = any_name_ || !cell.names;
  GrammarBuilder& builder = parts_.builder();
  const Part name = parts_.distinct_name_in(cell.names ? &*cell.names : nullptr);
  uint32_t few = 0;
  for (size_t i = 0; i < demands_.size(); ++i) {
    if (demands_[i].few_names && (cell.demands >> i & 1U) != 0) few |= 1U << i;
  }
  // With a name for each of these demands, members may meet them one by one.
  const auto waiting = static_cast<uint32_t>(std::popcount(few));
  const auto few_left = waiting > 1 ? texts_count(*cell.names, waiting - 1) : std::nullopt;
  if (few_left && *few_left > 1) {
    return schema_error(node_.pointer,
                        fmt::format("{} negated rules want members of their own, and {} names are "
                                    "left for them; allow more names, or fewer rules",
                                    waiting, *few_left));
  }
  const uint32_t one_by_one = few_left ? 0 : few;
  for (const ValueOffer& offer : *values) {
    const Part member = builder.sequence({name, offer.value});
    add_offer({.meets = offer.meets,
               .on_purpose = offer.on_purpose,
               .behind = few & ~offer.meets,
               .unless = one_by_one & offer.meets,
               .first = member,
               .later = builder.sequence({parts_.mark(","), member})});
  }
  return {};
}

// Offers that lead to the same states become one.
void CountedObject::add_offer(const MemberOffer& offer) {
  const auto same = std::ranges::find_if(rules_.undeclared, [&](const MemberOffer& other) {
    return other.meets == offer.meets && other.on_purpose == offer.on_purpose &&
           other.behind == offer.behind && other.unless == offer.unless;
  });
  if (same == rules_.undeclared.end()) {
    rules_.undeclared.push_back(offer);
    return;
  }
  same->first = parts_.builder().choice({same->first, offer.first});
  same->later = parts_.builder().choice({same->later, offer.later});
}

// Bounds that are kept anyway need no states.
void CountedObject::drop_useless_bounds() {
  const auto required = std::ranges::count_if(rules_.declared, &DeclaredMember::required);
  if (rules_.count_min <= required) rules_.count_min = 0;
  const bool undeclared = !rules_.undeclared.empty();
  if (undeclared && !rules_.undeclared_max) return;
  const size_t most = rules_.declared.size() + (undeclared ? *rules_.undeclared_max : 0);
  if (rules_.count_max && *rules_.count_max >= most) rules_.count_max.reset();
}

}  // namespace windrow::grammar
