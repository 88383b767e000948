#include "schema/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "schema/code_points.h"
#include "schema/keywords.h"

namespace windrow::schema {
namespace {

// What was found is only kept when an answer turns out to be much work; most are none.
constexpr int64_t kStepsBeforeKeeping = 20'000;
constexpr size_t kKeptMax = 2'000'000;

// Of the branches that do not fit, so many are asked why, and so deep.
constexpr size_t kHintBranchesMax = 16;
constexpr int kHintDepthMax = 2;

constexpr size_t kListedMax = 8;

std::string_view plural(uint64_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

std::string type_names(uint8_t types) {
  constexpr std::pair<uint8_t, std::string_view> kNames[] = {
      {kNullType, "null"},        {kBooleanType, "a boolean"}, {kIntegerType, "an integer"},
      {kNumberType, "a number"},  {kStringType, "a string"},   {kArrayType, "an array"},
      {kObjectType, "an object"},
  };
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((types & bit) == 0) continue;
    if (!text.empty()) text += " or ";
    text += name;
  }
  return text;
}

uint8_t types_of(const Value& value) {
  if (value.is_null()) return kNullType;
  if (value.if_bool() != nullptr) return kBooleanType;
  if (const Decimal* number = value.if_number())
    return number->is_integer() ? kIntegerType | kNumberType : kNumberType;
  if (value.if_string() != nullptr) return kStringType;
  return value.if_array() != nullptr ? kArrayType : kObjectType;
}

std::string listed(const std::vector<Value>& options) {
  std::string text;
  for (size_t i = 0; i < std::min(options.size(), kListedMax); ++i) {
    if (i > 0) text += ", ";
    text += quote(options[i]);
  }
  if (options.size() > kListedMax) text += fmt::format(" and {} more", options.size() - kListedMax);
  return text;
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

}  // namespace

Evaluation::Evaluation(const Program& program, const EvaluationLimits& limits, Violation* violation)
    : program_(program), limits_(limits), violation_(violation) {}

bool Evaluation::valid(const Value& value) {
  return judge(*program_.root, value, Where{.closed = program_.closed_by_default});
}

bool Evaluation::give_up(std::string_view why) {
  if (given_up_.empty()) given_up_ = why;
  return false;
}

// --- one node ---------------------------------------------------------------------------------

bool Evaluation::judge(const Node& node, const Value& value, const Where& where) {
  if (!given_up_.empty()) return false;
  if (++steps_ > limits_.steps_max) return give_up("takes too many steps to be judged");
  if (levels_ >= limits_.levels_max) return give_up("is nested too deep to be judged");
  // A scope within a scope is one of many; what is found there is not asked for again.
  const bool keep = node.shared && steps_ > kStepsBeforeKeeping && known_.size() < kKeptMax &&
                    (where.scope == nullptr || where.scope->outer == nullptr);
  const Key key{&node, &value, where.scope == nullptr ? nullptr : where.scope->head, where.closed};
  if (keep) {
    const auto known = known_.find(key);
    if (known != known_.end() && (known->second || violation_ == nullptr)) return known->second;
  }
  ++levels_;
  const bool result = where.closed && where.scope == nullptr ? judge_new(node, value, where)
                                                             : judge_all(node, value, where);
  --levels_;
  if (keep && given_up_.empty()) known_.insert_or_assign(key, result);
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
  if (node.never) return fail(node, "", where, [] { return std::string("must not be there"); });
  if (!judge_type(node, value, where) || !judge_choice_of_values(node, value, where)) return false;
  const Decimal* number = node.number == nullptr ? nullptr : value.if_number();
  if (number != nullptr && !judge_number(node, *number, where)) return false;
  const std::string* text = node.string == nullptr ? nullptr : value.if_string();
  if (text != nullptr && !judge_string(node, *text, where)) return false;
  const Items* items = node.array == nullptr ? nullptr : value.if_array();
  if (items != nullptr && !judge_array(node, *items, where)) return false;
  const Members* members = node.object == nullptr ? nullptr : value.if_object();
  if (members != nullptr &&
      (!judge_object(node, *members, where) || !judge_dependencies(node, value, *members, where)))
    return false;
  return judge_branches(node, value, where);
}

bool Evaluation::judge_type(const Node& node, const Value& value, const Where& where) {
  if (node.types == 0 || (node.types & types_of(value)) != 0) return true;
  return fail(node, "type", where, [&] {
    return fmt::format("is {}, not {}: {}", kind_name(value), type_names(node.types), quote(value));
  });
}

bool Evaluation::judge_choice_of_values(const Node& node, const Value& value, const Where& where) {
  if (node.constant && !(*node.constant == value)) {
    return fail(node, "const", where,
                [&] { return fmt::format("is {}, not {}", quote(value), quote(*node.constant)); });
  }
  if (!node.options) return true;
  const auto [first, last] =
      std::equal_range(node.options->begin(), node.options->end(), value,
                       [](const Value& a, const Value& b) { return a.hash() < b.hash(); });
  if (std::find(first, last, value) != last) return true;
  return fail(node, "enum", where, [&] {
    return fmt::format("is {}, which is none of {}", quote(value), listed(*node.options));
  });
}

bool Evaluation::judge_number(const Node& node, const Decimal& number, const Where& where) {
  const NumberRules& rules = *node.number;
  const auto wrong = [&](std::string_view keyword, std::string_view words, const Decimal& bound) {
    return fail(node, keyword, where, [&] {
      return fmt::format("is {}, {} {}", number.to_string(), words, bound.to_string());
    });
  };
  if (rules.minimum && number < *rules.minimum)
    return wrong("minimum", "below the minimum of", *rules.minimum);
  if (rules.maximum && number > *rules.maximum)
    return wrong("maximum", "above the maximum of", *rules.maximum);
  if (rules.exclusive_minimum && number <= *rules.exclusive_minimum)
    return wrong("exclusiveMinimum", "which is not above", *rules.exclusive_minimum);
  if (rules.exclusive_maximum && number >= *rules.exclusive_maximum)
    return wrong("exclusiveMaximum", "which is not below", *rules.exclusive_maximum);
  if (rules.multiple_of && !number.is_multiple_of(*rules.multiple_of))
    return wrong("multipleOf", "no multiple of", *rules.multiple_of);
  return true;
}

bool Evaluation::judge_string(const Node& node, const std::string& text, const Where& where) {
  const StringRules& rules = *node.string;
  if (rules.min_length || rules.max_length) {
    const size_t length = count_code_points(text);
    const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
      return fail(node, keyword, where, [&] {
        return fmt::format("has {} {}, {} than {}: {}", length,
                           plural(length, "character", "characters"), words, bound, quote(text));
      });
    };
    if (rules.min_length && length < *rules.min_length)
      return wrong("minLength", "fewer", *rules.min_length);
    if (rules.max_length && length > *rules.max_length)
      return wrong("maxLength", "more", *rules.max_length);
  }
  if (rules.pattern != nullptr && !found(*rules.pattern, text)) {
    return fail(node, "pattern", where, [&] {
      return fmt::format("is {}, which does not match the pattern {}", quote(text),
                         quote(rules.pattern->source()));
    });
  }
  if (rules.format && !conforms(*rules.format, text)) {
    return fail(node, "format", where, [&] {
      return fmt::format("is {}, which is no {}", quote(text), to_string(*rules.format));
    });
  }
  return true;
}

bool Evaluation::found(const Pattern& pattern, std::string_view text) {
  pattern_work_ += static_cast<int64_t>(pattern.size()) * static_cast<int64_t>(text.size() + 1);
  if (pattern_work_ > limits_.pattern_work_max)
    return give_up("has too much text for the patterns it is judged by");
  return pattern.found_in(text);
}

// --- arrays -----------------------------------------------------------------------------------

bool Evaluation::judge_array(const Node& node, const Items& items, const Where& where) {
  const ArrayRules& rules = *node.array;
  const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
    return fail(node, keyword, where, [&] {
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
    steps_ += static_cast<int64_t>(items.size());
    if (const auto pair = equal_pair(items)) {
      return fail(node, "uniqueItems", where, [&] {
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
    return fail(node, keyword, where, [&] {
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
    return fail(node, keyword, where, [&] {
      return fmt::format("has {} {}, {} than {}", members.size(),
                         plural(members.size(), "member", "members"), words, bound);
    });
  };
  for (const std::string& name : rules.required) {
    if (find_member(members, name) == nullptr) {
      return fail(node, "required", where,
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
  if (++steps_ > limits_.steps_max) return give_up("takes too many steps to be judged");
  if (rules.names != nullptr) {
    const Value name(member.name);
    if (!holds_open(*rules.names, name, where)) {
      return fail(node, "propertyNames", where, [&] {
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
    ++steps_;
    if (!found(*pattern, member.name)) continue;
    declared = true;
    if (!judge(*schema, member.value, inside)) return false;
  }
  if (declared || rules.additional == nullptr) return given_up_.empty();
  if (rules.additional->never) {
    return fail(node, "additionalProperties", where, [&] {
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
      return fail(node, one.keyword, where, [&] {
        return fmt::format("has the member {} and lacks {}, which has to be beside it",
                           quote(one.name), quote(name));
      });
    }
    if (one.schema != nullptr && !judge_branch(*one.schema, one.schema, value, where)) return false;
  }
  return true;
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
    return fail(node, "not", where,
                [&] { return fmt::format("is what not forbids: {}", quote(value)); });
  }
  if (node.condition == nullptr || (node.consequence == nullptr && node.alternative == nullptr))
    return given_up_.empty();
  const bool met = holds_open(*node.condition, value, where);
  const Node* chosen = met ? node.consequence : node.alternative;
  return given_up_.empty() &&
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
  return fail(node, "anyOf", where, [&] {
    return fmt::format("fits none of the {} schemas of anyOf{}", node.any_of.size(),
                       nearest(node.any_of, &node.any_of, value, where));
  });
}

bool Evaluation::judge_one(const Node& node, const Value& value, const Where& where) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < node.one_of.size() && fitting.size() < 2; ++i) {
    if (holds([&] { return judge_branch(*node.one_of[i], &node.one_of, value, where); }))
      fitting.push_back(i);
  }
  if (fitting.size() == 1) return true;
  return fail(node, "oneOf", where, [&] {
    if (fitting.empty()) {
      return fmt::format("fits none of the {} schemas of oneOf{}", node.one_of.size(),
                         nearest(node.one_of, &node.one_of, value, where));
    }
    return fmt::format("fits schemas {} and {} of oneOf, and may fit one only", fitting[0],
                       fitting[1]);
  });
}

bool Evaluation::holds(const std::function<bool()>& judged) {
  Violation* const wanted = std::exchange(violation_, nullptr);
  const bool result = judged();
  violation_ = wanted;
  return result;
}

bool Evaluation::holds_open(const Node& node, const Value& value, const Where& where) {
  return holds([&] { return judge(node, value, {where.place, nullptr, false}); });
}

// --- names that nobody declared ---------------------------------------------------------------

// The head of an object that absent additionalProperties close; null: it is open.
const Node* Evaluation::closed_by(const Scope& scope) {
  const Node* head = nullptr;
  const void* chosen = nullptr;
  for (const Scope* one = &scope; one != nullptr; one = one->outer) {
    const Closing& closing = *one->head->closing;
    if (closing.says_additional) return nullptr;
    for (const Choice& choice : closing.choices) {
      if (choice.identity != chosen && choice.says_additional) return nullptr;
    }
    if (head == nullptr && !closing.declaring.empty()) head = closing.declaring.front();
    chosen = one->choice;
  }
  return head;
}

bool Evaluation::named(const Scope& scope, std::string_view name) {
  const auto declares = [&](const Node* node) {
    ++steps_;
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

bool Evaluation::judge_closing(const Scope& scope, const Members& members, const Where& where) {
  const Node* head = closed_by(scope);
  if (head == nullptr) return true;
  for (const Member& member : members) {
    if (++steps_ > limits_.steps_max) return give_up("takes too many steps to be judged");
    if (named(scope, member.name)) continue;
    return fail(*head, "additionalProperties", where, [&] {
      return fmt::format("has a member {}, which the schema does not name", quote(member.name));
    });
  }
  return true;
}

// --- words ------------------------------------------------------------------------------------

template <class Words>
bool Evaluation::fail(const Node& node, std::string_view keyword, const Where& where, Words words) {
  if (violation_ != nullptr && given_up_.empty()) say(node, keyword, where, words());
  return false;
}

void Evaluation::say(const Node& node, std::string_view keyword, const Where& where,
                     const std::string& words) {
  std::vector<const Place*> path;
  for (const Place* place = where.place; place != nullptr; place = place->outer)
    path.push_back(place);
  Violation& violation = *violation_;
  violation.kind = Violation::Kind::kSchema;
  violation.instance_pointer.clear();
  for (auto place = path.rbegin(); place != path.rend(); ++place) {
    violation.instance_pointer +=
        (*place)->is_item ? fmt::format("/{}", (*place)->index) : pointer_step((*place)->name);
  }
  violation.schema_pointer = node.at;
  if (!keyword.empty()) violation.schema_pointer += pointer_step(keyword);
  violation.message =
      fmt::format("{} {} ({} of the schema)",
                  violation.instance_pointer.empty() ? "the answer" : violation.instance_pointer,
                  words, violation.schema_pointer.empty() ? "all" : violation.schema_pointer);
}

// What keeps the branch that fits best from fitting: the one that is wrong deepest in the value.
std::string Evaluation::nearest(const std::vector<const Node*>& branches, const void* choice,
                                const Value& value, const Where& where) {
  if (hints_ >= kHintDepthMax) return "";
  ++hints_;
  std::optional<Violation> best;
  Violation* const wanted = violation_;
  for (size_t i = 0; i < std::min(branches.size(), kHintBranchesMax); ++i) {
    Violation hint;
    violation_ = &hint;
    if (judge_branch(*branches[i], choice, value, where) || hint.message.empty()) continue;
    const auto depth = [](const Violation& one) {
      return std::count(one.instance_pointer.begin(), one.instance_pointer.end(), '/');
    };
    if (!best || depth(hint) > depth(*best)) best = std::move(hint);
  }
  violation_ = wanted;
  --hints_;
  return best ? "; nearest: " + best->message : "";
}

std::optional<Violation> evaluate(const Program& program, const Value& value,
                                  const EvaluationLimits& limits) {
  Evaluation deciding(program, limits, nullptr);
  const bool valid = deciding.valid(value);
  Violation violation;
  if (!deciding.given_up().empty()) {
    violation.kind = Violation::Kind::kUnjudged;
    violation.message = fmt::format("the answer {}", deciding.given_up());
    return violation;
  }
  if (valid) return std::nullopt;
  violation.message = "the answer does not fit the schema";
  Evaluation explaining(program, limits, &violation);
  explaining.valid(value);
  return violation;
}

}  // namespace windrow::schema
