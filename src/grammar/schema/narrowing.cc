#include <algorithm>
#include <limits>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {
namespace {

constexpr size_t kValuesMax = 64;  // that are looked at one by one
constexpr int kLookAheadMax = 3;   // members of members
constexpr std::string_view kContradiction = "its parts contradict each other";

class Narrowing {
 public:
  Narrowing(Conjunctions& conjunctions, const Schema& schema, Terms terms)
      : conjunctions_(conjunctions), schema_(schema), result_{std::move(terms)} {}

  Result<Narrowed> run() {
    while (true) {
      Result<bool> changed = step();
      if (!changed) return changed.error();
      if (!result_.why.empty() || !*changed) return std::move(result_);
    }
  }

 private:
  struct Decided {
    bool holds = false;  // one of the alternatives holds anyway
    std::vector<SchemaId> left;
  };

  bool is_choice(const Term& term) const {
    return schema_[term.schema].kind != SchemaNode::Kind::kRules;
  }

  // Of a oneOf all branches are needed, also those that cannot hold.
  bool is_exclusive(const Term& term) const {
    return schema_[term.schema].kind == SchemaNode::Kind::kOne && !term.wide;
  }

  // The terms as they are read while closed objects are not known to be closed.
  Terms opened(Terms terms) const {
    for (Term& term : terms)
      term.judging = term.judging || open_;
    return terms;
  }

  // Looks at each choice once. False if nothing changed: then the choice is known.
  Result<bool> step() {
    Terms& terms = result_.terms;
    result_.choice.reset();
    const auto choices_count =
        std::ranges::count_if(terms, [&](const Term& term) { return is_choice(term); });
    if (choices_count == 0) return false;
    rules_.clear();
    std::ranges::copy_if(terms, std::back_inserter(rules_),
                         [&](const Term& term) { return !is_choice(term); });
    // A choice may declare what a closed object then may have.
    open_ = std::ranges::any_of(
        terms, [&](const Term& term) { return is_choice(term) && declares_any(term); });
    Node base;
    base.pointer = schema_[terms.front().schema].pointer;
    if (Result<void> joined = join_rules(conjunctions_, schema_, opened(rules_), base); !joined)
      return joined.error();
    bool changed = false;
    size_t fewest = std::numeric_limits<size_t>::max();
    Terms next;
    for (size_t i = 0; i < terms.size(); ++i) {
      next.push_back(terms[i]);
      if (!is_choice(terms[i])) continue;
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
      Result<Decided> decided = decide(terms[i], base, choices_count > 1);
      if (!decided) return decided.error();
      if (!result_.why.empty()) return true;
      if (decided->holds) {
        next.pop_back();
        changed = true;
      } else if (decided->left.size() == 1 && !is_exclusive(terms[i])) {
        next.back().schema = decided->left.front();
        changed = true;
      } else if (decided->left.size() < fewest) {
        fewest = decided->left.size();
        result_.choice = Choice{i, std::move(decided->left)};
      }
    }
    if (!changed) return false;
    Result<Unfolded> unfolded = conjunctions_.unfold(next);
    if (!unfolded) return unfolded.error();
    if (unfolded->never) result_.why = unfolded->why;
    terms = std::move(unfolded->terms);
    return true;
  }

  // `thorough`: also leaves out alternatives that have no value with the rules. Not worth it for a
  // choice alone, of which each alternative is worked out next.
  Result<Decided> decide(const Term& choice, const Node& base, bool thorough) {
    Decided decided;
    const bool exclusive = is_exclusive(choice);
    std::string why;
    for (const SchemaId part : schema_[choice.schema].parts) {
      Result<Unfolded> unfolded = conjunctions_.unfold({{part, choice.judging, choice.wide}});
      if (!unfolded) return unfolded.error();
      if (unfolded->never) {
        if (why.empty()) why = unfolded->why;
        continue;
      }
      Result<bool> holds = exclusive ? false : plainly_hold(base, unfolded->terms);
      if (!holds) return holds.error();
      if (*holds && !declares_any(choice)) return Decided{true, {}};
      if (thorough) {
        Result<bool> possible = is_possible(unfolded->terms, why);
        if (!possible) return possible.error();
        if (!*possible) continue;
      }
      decided.left.push_back(part);
    }
    if (decided.left.empty()) result_.why = why.empty() ? std::string(kContradiction) : why;
    return decided;
  }

  // Whether an alternative may declare properties, which a closed object then may have.
  bool declares_any(const Term& choice) const {
    return !choice.judging && std::ranges::any_of(schema_[choice.schema].parts, [&](SchemaId part) {
      const SchemaNode& node = schema_[part];
      if (node.kind == SchemaNode::Kind::kNot || node.kind == SchemaNode::Kind::kJudged ||
          node.kind == SchemaNode::Kind::kAlways || node.kind == SchemaNode::Kind::kNever)
        return false;
      const ObjectRules& objects = node.rules.objects;
      const ArrayRules& arrays = node.rules.arrays;
      return node.kind != SchemaNode::Kind::kRules || !objects.properties.empty() ||
             !objects.patterns.empty() || objects.additional || !arrays.prefix.empty() ||
             arrays.items || !arrays.contains.empty();
    });
  }

  // Whether the rules and those of an alternative have a value together. True if it is not known.
  Result<bool> is_possible(const Terms& more, std::string& why) {
    Terms rules = rules_;
    for (const Term& term : more) {
      if (!is_choice(term) && std::ranges::find(rules, term) == rules.end()) rules.push_back(term);
    }
    Node joint;
    joint.pointer = rules.empty() ? "#" : schema_[rules.front().schema].pointer;
    Result<void> done = join_rules(conjunctions_, schema_, opened(rules), joint);
    if (done) done = remove_impossible_types(conjunctions_, joint);
    if (!done) {
      if (done.error().kind == ErrorKind::kUnavailable) return done.error();
      return true;  // reported where it is worked out, if it is
    }
    if (joint.types == 0 && why.empty()) why = joint.why;
    return joint.types != 0;
  }

  // Whether all values of `base` are valid under all of `terms`, as far as that is plain.
  Result<bool> plainly_hold(const Node& base, const Terms& terms) {
    Result<bool> held = all_hold(base, rules_, terms, 0);
    if (held || held.error().kind == ErrorKind::kUnavailable) return held;
    return false;  // reported where it is worked out, if it is
  }

  Result<bool> all_hold(const Node& base, const Terms& rules, const Terms& terms, int depth) {
    for (const Term& term : terms) {
      if (std::ranges::find(rules, term) != rules.end()) continue;
      if (is_choice(term)) return false;
      Result<bool> held = holds(base, term, depth);
      if (!held || !*held) return held;
    }
    return true;
  }

  Result<bool> holds(const Node& base, const Term& term, int depth) {
    if (base.allowed) return values_hold(*base.allowed, term);
    const Rules& rules = schema_[term.schema].rules;
    if (rules.allowed || (base.types & ~rules.types) != 0) return false;
    if ((base.types & kNumberTypes) != 0 && !implies(base.numbers, rules.numbers)) return false;
    if ((base.types & kStringType) != 0 && !strings_hold(base.strings, rules.strings)) return false;
    if ((base.types & kArrayType) != 0 && !arrays_hold(base.arrays, rules.arrays)) return false;
    if ((base.types & kObjectType) != 0) return objects_hold(base, rules.objects, term, depth);
    return true;
  }

  Result<bool> values_hold(const std::vector<const boost::json::value*>& values, const Term& term) {
    if (values.size() > kValuesMax) return false;
    Result<NodeId> node = conjunctions_.find({term});
    if (!node) return node.error();
    for (const boost::json::value* value : values) {
      Result<bool> held = value_holds(conjunctions_, *node, *value);
      if (!held || !*held) return held;
    }
    return true;
  }

  static bool lengths_hold(uint32_t min, const std::optional<uint32_t>& max, uint32_t wanted_min,
                           const std::optional<uint32_t>& wanted_max) {
    return min >= wanted_min && (!wanted_max || (max && *max <= *wanted_max));
  }

  static bool strings_hold(const StringRules& base, const StringRules& rules) {
    return rules.only_lengths() &&
           lengths_hold(base.length_min, base.length_max, rules.length_min, rules.length_max);
  }

  static bool arrays_hold(const ArrayShape& base, const ArrayRules& rules) {
    return rules.prefix.empty() && !rules.items && rules.contains.empty() && !rules.unique &&
           !rules.repeated &&
           lengths_hold(base.count_min, base.count_max, rules.count_min, rules.count_max);
  }

  Result<bool> objects_hold(const Node& node, const ObjectRules& rules, const Term& term,
                            int depth) {
    const ObjectShape& base = node.objects;
    const bool closes = rules.closed && !term.judging;
    if (closes || !rules.patterns.empty() || rules.additional || !rules.names.empty() ||
        !rules.some.empty() ||
        !lengths_hold(base.count_min, base.count_max, rules.count_min, rules.count_max))
      return false;
    const auto is_required = [&](std::string_view name) {
      const auto member = std::ranges::find(base.members, name, &Member::name);
      return member != base.members.end() && member->required;
    };
    for (const std::string& name : rules.required) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
      if (!is_required(name)) return false;
    }
    for (const std::string& name : rules.forbidden) {
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
      Result<bool> missing = conjunctions_.cannot_have(base, name);
      if (!missing || !*missing) return missing;
    }
    // Members that may be there, but need not, are not worked out.
    for (const auto& [name, value] : rules.properties) {
      Result<bool> missing = conjunctions_.cannot_have(base, name);
      if (!missing) return missing;
      if (*missing) continue;
      if (depth >= kLookAheadMax || !is_required(name)) return false;
      Result<bool> held = member_holds(node, name, {value, term.judging, term.wide}, depth + 1);
      if (!held || !*held) return held;
    }
    return true;
  }

  Result<bool> member_holds(const Node& node, std::string_view name, const Term& wanted,
                            int depth) {
    Result<Unfolded> unfolded = conjunctions_.unfold({wanted});
    if (!unfolded) return unfolded.error();
    if (unfolded->never) return false;
    Result<NodeId> member = conjunctions_.find_member(node, name);
    if (!member) return member.error();
    const Node& value = conjunctions_[*member];
    return value.kind == Node::Kind::kShape ? all_hold(value, {}, unfolded->terms, depth) : false;
  }

  Conjunctions& conjunctions_;
  const Schema& schema_;
  Narrowed result_;
  Terms rules_;  // the terms that are no choice
  bool open_ = false;
};

}  // namespace

Result<Narrowed> narrow(Conjunctions& conjunctions, const Schema& schema, Terms terms) {
  return Narrowing(conjunctions, schema, std::move(terms)).run();
}

}  // namespace windrow::grammar
