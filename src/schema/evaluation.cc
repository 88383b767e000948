#include "schema/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "schema/unevaluated.h"

namespace windrow::schema {
namespace {

// Results are cached only once an answer turns out to be much work; most are not.
constexpr int64_t kStepsBeforeKeeping = 20'000;
constexpr size_t kKeptMax = 2'000'000;

// How many branches of a choice are asked why they do not fit, and how deep.
constexpr size_t kHintBranchesMax = 16;
constexpr int kHintDepthMax = 2;

std::string_view plural(uint64_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

// Where two items are equal, where there are any; by their hashes, so it takes n log n.
std::optional<std::pair<size_t, size_t>> equal_pair(const Items& items) {
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    order.emplace_back(items[i].hash(), i);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t k = i + 1; k < order.size() && order[k].first == order[i].first; ++k) {
      if (items[order[i].second] == items[order[k].second])
        return std::pair(order[i].second, order[k].second);
    }
  }
  return std::nullopt;
}

// The schemas whose names count for the current object if absent additionalProperties close it: the
// node where judging it began, or a branch of a choice, and all scopes around it.
struct Scope {
  const Scope* outer = nullptr;
  const Node* head = nullptr;
  const void* choice = nullptr;  // the choice that `head` is a branch of; null: none
};

struct Where {
  const Place* place = nullptr;
  const Scope* scope = nullptr;  // null: judging this value begins
  bool closed = false;           // whether absent additionalProperties close an object
};

// The schema that closes the object by its absent additionalProperties; null: none does.
const Node* closed_by(const Scope& scope) {
  for (const Scope* one = &scope; one != nullptr; one = one->outer) {
    if (one->head->closing->closes != nullptr) return one->head->closing->closes;
  }
  return nullptr;
}

// Whether a schema that counts in this scope declares a member of this name.
bool is_named(Judgement& judgement, const Scope& scope, std::string_view name) {
  const auto declares = [&](const Node* node) {
    judgement.add_steps(1);
    return node->object->declares(name);
  };
  const void* chosen = nullptr;  // this choice was made: its other branches do not count
  for (const Scope* one = &scope; one != nullptr; one = one->outer) {
    const Closing& closing = *one->head->closing;
    if (std::any_of(closing.declaring.begin(), closing.declaring.end(), declares)) return true;
    for (const Choice& choice : closing.choices) {
      if (choice.identity == chosen) continue;
      if (std::any_of(choice.declaring.begin(), choice.declaring.end(), declares)) return true;
    }
    chosen = one->choice;
  }
  return false;
}

class Evaluation {
 public:
  // All outlive it.
  Evaluation(const Program& program, Judgement& judgement)
      : program_(program), judgement_(judgement) {}

  bool valid(const Value& value) {
    return judge(*program_.root, value, Where{.closed = program_.closed_by_default});
  }

 private:
  bool judge(const Node& node, const Value& value, const Where& where);
  bool judge_new(const Node& node, const Value& value, const Where& where);
  bool judge_all(const Node& node, const Value& value, const Where& where);
  bool judge_array(const Node& node, const Items& items, const Where& where);
  bool judge_items(const Node& node, const Items& items, const Where& where);
  bool judge_contains(const Node& node, const Items& items, const Where& where);
  bool judge_object(const Node& node, const Members& members, const Where& where);
  bool judge_member(const Node& node, const Member& member, const Where& where);
  bool judge_dependencies(const Node& node, const Value& value, const Members& members,
                          const Where& where);
  bool judge_branches(const Node& node, const Value& value, const Where& where);
  bool judge_any(const Node& node, const Value& value, const Where& where);
  bool judge_one(const Node& node, const Value& value, const Where& where);
  bool judge_branch(const Node& branch, const void* choice, const Value& value, const Where& where);
  bool judge_unevaluated(const Node& node, const Value& value, const Where& where);
  bool judge_closing(const Scope& scope, const Members& members, const Where& where);

  // The verdict alone: violations inside are not reported.
  bool holds(const std::function<bool()>& judged);
  bool holds_open(const Node& node, const Value& value, const Where& where);

  std::string nearest(const std::vector<const Node*>& branches, const void* choice,
                      const Value& value, const Where& where);

  struct Key {
    const Node* node = nullptr;
    const Value* value = nullptr;
    const Node* head = nullptr;
    bool closed = false;

    friend bool operator==(const Key&, const Key&) = default;
    friend size_t hash_value(const Key& key) {
      size_t seed = key.closed ? 1 : 0;
      boost::hash_combine(seed, key.node);
      boost::hash_combine(seed, key.value);
      boost::hash_combine(seed, key.head);
      return seed;
    }
  };

  const Program& program_;
  Judgement& judgement_;
  boost::unordered_flat_map<Key, bool> known_;
  int hints_ = 0;  // how deep in looking for the nearest branch
};

bool Evaluation::judge(const Node& node, const Value& value, const Where& where) {
  if (judgement_.gave_up() || !judgement_.step() || !judgement_.enter_level()) return false;
  // Results within nested scopes are not cached: they are rarely needed again.
  const bool keep = node.shared && judgement_.steps() > kStepsBeforeKeeping &&
                    known_.size() < kKeptMax &&
                    (where.scope == nullptr || where.scope->outer == nullptr);
  const Key key{&node, &value, where.scope == nullptr ? nullptr : where.scope->head, where.closed};
  if (keep) {
    const auto known = known_.find(key);
    if (known != known_.end() && (known->second || !judgement_.wants_words())) {
      judgement_.leave_level();
      return known->second;
    }
  }
  const bool result = where.closed && where.scope == nullptr ? judge_new(node, value, where)
                                                             : judge_all(node, value, where);
  judgement_.leave_level();
  if (keep && !judgement_.gave_up()) known_.insert_or_assign(key, result);
  return result;
}

bool Evaluation::judge_new(const Node& node, const Value& value, const Where& where) {
  const Scope scope{.head = &node};
  const Where inside{where.place, &scope, where.closed};
  if (!judge_all(node, value, inside)) return false;
  const Members* members = value.if_object();
  return members == nullptr || judge_closing(scope, *members, inside);
}

bool Evaluation::judge_all(const Node& node, const Value& value, const Where& where) {
  if (node.never)
    return judgement_.fail(node, "", where.place, [] { return std::string("must not be there"); });
  if (!fits_type(judgement_, node, value, where.place) ||
      !fits_enum(judgement_, node, value, where.place))
    return false;
  const Decimal* number = node.number == nullptr ? nullptr : value.if_number();
  if (number != nullptr && !fits_number_rules(judgement_, node, *number, where.place)) return false;
  const std::string* text = node.string == nullptr ? nullptr : value.if_string();
  if (text != nullptr && !fits_string_rules(judgement_, node, *text, where.place)) return false;
  const Items* items = node.array == nullptr ? nullptr : value.if_array();
  if (items != nullptr && !judge_array(node, *items, where)) return false;
  const Members* members = node.object == nullptr ? nullptr : value.if_object();
  if (members != nullptr &&
      (!judge_object(node, *members, where) || !judge_dependencies(node, value, *members, where)))
    return false;
  return judge_branches(node, value, where) && judge_unevaluated(node, value, where);
}

// --- schemas about the same value -------------------------------------------------------------

bool Evaluation::judge_branches(const Node& node, const Value& value, const Where& where) {
  if (node.reference != nullptr && !judge(*node.reference, value, where)) return false;
  for (const Node* one : node.all_of) {
    if (!judge(*one, value, where)) return false;
  }
  if (!node.any_of.empty() && !judge_any(node, value, where)) return false;
  if (!node.one_of.empty() && !judge_one(node, value, where)) return false;
  if (node.negated != nullptr && holds_open(*node.negated, value, where)) {
    return judgement_.fail(node, "not", where.place,
                           [&] { return fmt::format("is what not forbids: {}", quote(value)); });
  }
  if (node.condition == nullptr || (node.consequence == nullptr && node.alternative == nullptr))
    return !judgement_.gave_up();
  const bool met = holds_open(*node.condition, value, where);
  const Node* chosen = met ? node.consequence : node.alternative;
  return !judgement_.gave_up() &&
         (chosen == nullptr || judge_branch(*chosen, node.condition, value, where));
}

bool Evaluation::judge_branch(const Node& branch, const void* choice, const Value& value,
                              const Where& where) {
  if (!where.closed) return judge(branch, value, where);
  const Scope scope{where.scope, &branch, choice};
  const Where inside{where.place, &scope, true};
  if (!judge(branch, value, inside)) return false;
  const Members* members = value.if_object();
  return members == nullptr || judge_closing(scope, *members, inside);
}

bool Evaluation::judge_any(const Node& node, const Value& value, const Where& where) {
  const bool any = holds([&] {
    return std::any_of(node.any_of.begin(), node.any_of.end(), [&](const Node* branch) {
      return judge_branch(*branch, &node.any_of, value, where);
    });
  });
  if (any) return true;
  return judgement_.fail(node, "anyOf", where.place, [&] {
    return fmt::format("fits none of the {} schemas of anyOf{}", node.any_of.size(),
                       nearest(node.any_of, &node.any_of, value, where));
  });
}

bool Evaluation::judge_one(const Node& node, const Value& value, const Where& where) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < node.one_of.size() && fitting.size() < 2; ++i) {
    if (holds_open(*node.one_of[i], value, where)) fitting.push_back(i);
  }
  if (fitting.size() == 1) {
    // The others must not fit by the meaning of the standard; only this one may be closed.
    return !where.closed || judge_branch(*node.one_of[fitting[0]], &node.one_of, value, where);
  }
  return judgement_.fail(node, "oneOf", where.place, [&] {
    if (fitting.empty()) {
      return fmt::format("fits none of the {} schemas of oneOf{}", node.one_of.size(),
                         nearest(node.one_of, &node.one_of, value, where));
    }
    return fmt::format("fits schemas {} and {} of oneOf, and may fit one only", fitting[0],
                       fitting[1]);
  });
}

bool Evaluation::holds(const std::function<bool()>& judged) {
  Violation* const wanted = judgement_.redirect(nullptr);
  const bool result = judged();
  judgement_.redirect(wanted);
  return result;
}

bool Evaluation::holds_open(const Node& node, const Value& value, const Where& where) {
  return holds([&] { return judge(node, value, {where.place, nullptr, false}); });
}

// The violation of the branch that fits best: the one whose violation is deepest in the value.
std::string Evaluation::nearest(const std::vector<const Node*>& branches, const void* choice,
                                const Value& value, const Where& where) {
  if (hints_ >= kHintDepthMax) return "";
  ++hints_;
  std::optional<Violation> best;
  Violation* const wanted = judgement_.redirect(nullptr);
  for (size_t i = 0; i < std::min(branches.size(), kHintBranchesMax); ++i) {
    Violation hint;
    judgement_.redirect(&hint);
    if (judge_branch(*branches[i], choice, value, where) || hint.message.empty()) continue;
    const auto depth = [](const Violation& one) {
      return std::count(one.instance_pointer.begin(), one.instance_pointer.end(), '/');
    };
    if (!best || depth(hint) > depth(*best)) best = std::move(hint);
  }
  judgement_.redirect(wanted);
  --hints_;
  return best ? "; nearest: " + best->message : "";
}

// --- arrays -----------------------------------------------------------------------------------

bool Evaluation::judge_array(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return judgement_.fail(node, keyword, where.place, [&] {
      return fmt::format("has {} {}, {} than {}", items.size(),
                         plural(items.size(), "item", "items"), words, bound);
    });
  };
  if (rules.min_items && items.size() < *rules.min_items)
    return wrong("minItems", "fewer", *rules.min_items);
  if (rules.max_items && items.size() > *rules.max_items)
    return wrong("maxItems", "more", *rules.max_items);
  if (!judge_items(node, items, where)) return false;
  if (rules.unique) {
    judgement_.add_steps(static_cast<int64_t>(items.size()));
    if (const auto pair = equal_pair(items)) {
      return judgement_.fail(node, "uniqueItems", where.place, [&] {
        return fmt::format("has equal items at {} and {}: {}", pair->first, pair->second,
                           quote(items[pair->first]));
      });
    }
  }
  return rules.contains == nullptr || judge_contains(node, items, where);
}

bool Evaluation::judge_items(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const size_t count =
      rules.rest == nullptr ? std::min(items.size(), rules.prefix.size()) : items.size();
  for (size_t i = 0; i < count; ++i) {
    const Node* schema = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
    const Place place{.outer = where.place, .index = i, .is_item = true};
    if (!judge(*schema, items[i], {&place, nullptr, where.closed})) return false;
  }
  return true;
}

bool Evaluation::judge_contains(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const uint64_t least = rules.min_contains.value_or(1);
  uint64_t fitting = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (fitting >= least && !rules.max_contains) return true;
    if (holds_open(*rules.contains, items[i], where)) ++fitting;
  }
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return judgement_.fail(node, keyword, where.place, [&] {
      return fmt::format("has {} {} as contains wants them, {} than {}", fitting,
                         plural(fitting, "item", "items"), words, bound);
    });
  };
  if (fitting < least)
    return wrong(rules.min_contains ? "minContains" : "contains", "fewer", least);
  if (rules.max_contains && fitting > *rules.max_contains)
    return wrong("maxContains", "more", *rules.max_contains);
  return true;
}

// --- objects ----------------------------------------------------------------------------------

bool Evaluation::judge_object(const Node& node, const Members& members, const Where& where) {
  const ObjectRules& rules = *node.object;
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return judgement_.fail(node, keyword, where.place, [&] {
      return fmt::format("has {} {}, {} than {}", members.size(),
                         plural(members.size(), "member", "members"), words, bound);
    });
  };
  for (const std::string& name : rules.required) {
    if (find_member(members, name) == nullptr) {
      return judgement_.fail(node, "required", where.place,
                             [&] { return fmt::format("lacks the member {}", quote(name)); });
    }
  }
  if (rules.min_properties && members.size() < *rules.min_properties)
    return wrong("minProperties", "fewer", *rules.min_properties);
  if (rules.max_properties && members.size() > *rules.max_properties)
    return wrong("maxProperties", "more", *rules.max_properties);
  return std::all_of(members.begin(), members.end(),
                     [&](const Member& member) { return judge_member(node, member, where); });
}

bool Evaluation::judge_member(const Node& node, const Member& member, const Where& where) {
  const ObjectRules& rules = *node.object;
  const Place place{.outer = where.place, .name = member.name};
  const Where inside{&place, nullptr, where.closed};
  if (!judgement_.step()) return false;
  if (rules.names != nullptr) {
    const Value name(member.name);
    if (!holds_open(*rules.names, name, where)) {
      return judgement_.fail(node, "propertyNames", where.place, [&] {
        return fmt::format("has a member named {}, which propertyNames forbids",
                           quote(member.name));
      });
    }
  }
  bool declared = false;
  if (const auto property = rules.properties.find(member.name);
      property != rules.properties.end()) {
    declared = true;
    if (!judge(*property->second, member.value, inside)) return false;
  }
  for (const auto& [pattern, schema] : rules.patterns) {
    judgement_.add_steps(1);
    if (!judgement_.found(*pattern, member.name)) continue;
    declared = true;
    if (!judge(*schema, member.value, inside)) return false;
  }
  if (declared || rules.additional == nullptr) return !judgement_.gave_up();
  if (rules.additional->never) {
    return judgement_.fail(node, "additionalProperties", where.place, [&] {
      return fmt::format("has a member {}, which the schema does not name", quote(member.name));
    });
  }
  return judge(*rules.additional, member.value, inside);
}

bool Evaluation::judge_dependencies(const Node& node, const Value& value, const Members& members,
                                    const Where& where) {
  for (const Dependency& one : node.object->dependencies) {
    if (find_member(members, one.name) == nullptr) continue;
    for (const std::string& name : one.required) {
      if (find_member(members, name) != nullptr) continue;
      return judgement_.fail(node, one.keyword, where.place, [&] {
        return fmt::format("has the member {} and lacks {}, which has to be beside it",
                           quote(one.name), quote(name));
      });
    }
    if (one.schema != nullptr && !judge_branch(*one.schema, one.schema, value, where)) return false;
  }
  return true;
}

bool Evaluation::judge_unevaluated(const Node& node, const Value& value, const Where& where) {
  const Node* of_members = node.object == nullptr ? nullptr : node.object->unevaluated;
  const Node* of_items = node.array == nullptr ? nullptr : node.array->unevaluated;
  const Members* members = of_members == nullptr ? nullptr : value.if_object();
  const Items* items = of_items == nullptr ? nullptr : value.if_array();
  if (members == nullptr && items == nullptr) return true;
  const std::vector<bool> evaluated = evaluated_parts(
      judgement_, node, value,
      [&](const Node& part, const Value& about) { return holds_open(part, about, where); });
  for (size_t i = 0; i < evaluated.size(); ++i) {
    if (evaluated[i]) continue;
    Place place{.outer = where.place};
    if (members != nullptr) {
      place.name = (*members)[i].name;
    } else {
      place.index = i;
      place.is_item = true;
    }
    const Node& wanted = members != nullptr ? *of_members : *of_items;
    const Value& part = members != nullptr ? (*members)[i].value : (*items)[i];
    if (!judge(wanted, part, {&place, nullptr, where.closed})) return false;
  }
  return !judgement_.gave_up();
}

bool Evaluation::judge_closing(const Scope& scope, const Members& members, const Where& where) {
  const Node* closes = closed_by(scope);
  if (closes == nullptr) return true;
  for (const Member& member : members) {
    if (!judgement_.step()) return false;
    if (is_named(judgement_, scope, member.name)) continue;
    return judgement_.fail(*closes, "additionalProperties", where.place, [&] {
      return fmt::format("has a member {}, which the schema does not name", quote(member.name));
    });
  }
  return true;
}

}  // namespace

std::optional<Violation> evaluate(const Program& program, const Value& value,
                                  const EvaluationLimits& limits) {
  Judgement deciding(limits, nullptr);
  const bool valid = Evaluation(program, deciding).valid(value);
  Violation violation;
  if (deciding.gave_up()) {
    violation.kind = Violation::Kind::kUnjudged;
    violation.message = fmt::format("the answer {}", deciding.given_up());
    return violation;
  }
  if (valid) return std::nullopt;
  violation.message = "the answer does not fit the schema";
  Judgement explaining(limits, &violation);
  Evaluation(program, explaining).valid(value);
  return violation;
}

}  // namespace windrow::schema
