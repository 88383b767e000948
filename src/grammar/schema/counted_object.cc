#include "grammar/schema/counted_object.h"

#include <fmt/format.h>

#include <algorithm>
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
    if (Result<void> kept = keep(all.without(*taken, CharDfa::kStatesMax, conjunctions_.give_up()));
        !kept)
      return kept.error();
  }
  for (const std::string& text : rule.patterns_not) {
    Result<const CharDfa*> pattern = conjunctions_.automata().pattern(text);
    if (!pattern) return pattern.error();
    const CharDfa all = names.value_or(CharDfa::any_text());
    if (Result<void> kept =
            keep(all.without(**pattern, CharDfa::kStatesMax, conjunctions_.give_up()));
        !kept)
      return kept.error();
  }
  return names;
}

// Values that never end are none: a name that has no others would be counted, and cannot be used.
Result<bool> CountedObject::has_value(NodeId id) {
  if (!conjunctions_.possible(id)) return false;
  return endings_.ends(id);
}

// The values of members that the rules of `terms` hold for, and whose name is one of `demands`:
// those that are just valid, and for each set of demands those that meet it on purpose.
Result<std::vector<CountedObject::ValueOffer>> CountedObject::offers(const Terms& terms,
                                                                     uint32_t demands) {
  std::vector<ValueOffer> offers;
  Result<NodeId> plain = conjunctions_.find(terms);
  if (!plain) return plain.error();
  Result<bool> there_are = has_value(*plain);
  if (!there_are) return there_are.error();
  if (!*there_are) return offers;
  uint32_t always = 0;
  for (size_t i = 0; i < demands_.size(); ++i) {
    if ((demands >> i & 1U) == 0) continue;
    Terms both = terms;
    if (demands_[i].value) both.push_back(*demands_[i].value);
    Result<NodeId> id = conjunctions_.find(both);
    if (!id) return id.error();
    if (*id == *plain) always |= 1U << i;
    there_are = has_value(*id);
    if (!there_are) return there_are.error();
    if (!*there_are) demands &= ~(1U << i);
  }
  for (uint32_t set = 0; set < 1U << demands_.size(); ++set) {
    if ((set & (always | ~demands)) != 0) continue;
    Terms all = terms;
    for (size_t i = 0; i < demands_.size(); ++i) {
      if ((set >> i & 1U) != 0) all.push_back(*demands_[i].value);
    }
    Result<NodeId> id = conjunctions_.find(all);
    if (!id) return id.error();
    there_are = has_value(*id);
    if (!there_are) return there_are.error();
    if (!*there_are) continue;
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
  std::vector<NameCell> all;
  for (const NameClass& names : *classes) {
    Result<std::vector<NameCell>> cells = split(names);
    if (!cells) return schema_error(node_.pointer, cells.error());
    for (NameCell& cell : *cells) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
      Result<std::vector<ValueOffer>> values = offers(names.terms, cell.demands);
      if (!values) return values.error();
      if (values->empty()) continue;
      cell.offers = *std::move(values);
      if (Result<void> taken = take_names(cell); !taken) return taken;
      all.push_back(std::move(cell));
    }
  }
  for (Demand& demand : demands_) {
    if (!demand.any_meets)
      demand.names_count = texts_count(demand.meeting, few_names(node_.objects));
  }
  if (Result<void> checked = check_few_names(all); !checked) return checked;
  for (const NameCell& cell : all)
    add_cell(cell);
  if (!any_name_) rules_.undeclared_max = texts_count(undeclared_names_, few_names(node_.objects));
  return {};
}

uint32_t CountedObject::NameCell::meetable() const {
  uint32_t all = 0;
  for (const ValueOffer& offer : offers)
    all |= offer.meets;
  return all;
}

// Counts the names of a cell among those that may be used up.
Result<void> CountedObject::take_names(const NameCell& cell) {
  const auto take = [&](CharDfa& into, bool& any) -> Result<void> {
    if (any || !cell.names) {
      any = true;
      return {};
    }
    Result<CharDfa> both = into.unite(*cell.names, CharDfa::kStatesMax, conjunctions_.give_up());
    if (!both) return schema_error(node_.pointer, both.error());
    into = *std::move(both);
    return {};
  };
  for (size_t i = 0; i < demands_.size(); ++i) {
    if ((cell.meetable() >> i & 1U) == 0) continue;
    if (Result<void> taken = take(demands_[i].meeting, demands_[i].any_meets); !taken) return taken;
  }
  return take(undeclared_names_, any_name_);
}

// A demand that has as many names as there are demands always keeps one, if each member before it
// meets another demand. Two demands that have fewer could wait for each other.
Result<void> CountedObject::check_few_names(const std::vector<NameCell>& cells) const {
  for (const NameCell& cell : cells) {
    size_t waiting = 0;
    for (size_t i = 0; i < demands_.size(); ++i) {
      const auto count = demands_[i].names_count;
      const bool waits =
          (cell.meetable() >> i & 1U) != 0 && count && *count > 1 && *count < demands_.size();
      waiting += waits ? 1 : 0;
    }
    if (waiting < 2) continue;
    return schema_error(
        node_.pointer,
        fmt::format("{} negated rules for members hold together for one object, and there are "
                    "fewer names than that with which a member can break some of them; allow more "
                    "names, or have fewer such rules",
                    demands_.size()));
  }
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
      Result<CharDfa> inside =
          all.intersect(*demands_[i].names, CharDfa::kStatesMax, conjunctions_.give_up());
      if (!inside) return inside.error();
      Result<CharDfa> outside =
          all.without(*demands_[i].names, CharDfa::kStatesMax, conjunctions_.give_up());
      if (!outside) return outside.error();
      if (!inside->empty()) parts.push_back({*std::move(inside), cell.demands | 1U << i});
      if (!outside->empty()) parts.push_back({*std::move(outside), cell.demands});
    }
    cells = std::move(parts);
  }
  return cells;
}

// A member must not use up a name that a demand still needs.
void CountedObject::add_cell(const NameCell& cell) {
  GrammarBuilder& builder = parts_.builder();
  const Part name = parts_.distinct_name_in(cell.names ? &*cell.names : nullptr);
  const uint32_t meetable = cell.meetable();
  uint32_t few = 0;
  uint32_t too_few = 0;
  for (size_t i = 0; i < demands_.size(); ++i) {
    const auto count = demands_[i].names_count;
    if (!count || (meetable >> i & 1U) == 0) continue;
    few |= 1U << i;
    if (*count < demands_.size()) too_few |= 1U << i;
  }
  for (const ValueOffer& offer : cell.offers) {
    const Part member = builder.sequence({name, offer.value});
    add_offer({.meets = offer.meets,
               .on_purpose = offer.on_purpose,
               .behind = too_few & ~offer.meets,
               .behind_idle = few & ~offer.meets,
               .first = member,
               .later = builder.sequence({parts_.mark(","), member})});
  }
}

// Offers that lead to the same states become one.
void CountedObject::add_offer(const MemberOffer& offer) {
  const auto same = std::ranges::find_if(rules_.undeclared, [&](const MemberOffer& other) {
    return other.meets == offer.meets && other.on_purpose == offer.on_purpose &&
           other.behind == offer.behind && other.behind_idle == offer.behind_idle;
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
