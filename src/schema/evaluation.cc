#include "schema/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "schema/code_points.h"

namespace windrow::schema {
namespace {

// What was found is only kept when an answer turns out to be much work; most are none.
constexpr int64_t kStepsBeforeKeeping = 20'000;
constexpr size_t kKeptMax = 2'000'000;

constexpr size_t kListedMax = 8;

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
  if (rules.format_range && number < rules.format_range->first)
    return wrong("format", "below the least of its format,", rules.format_range->first);
  if (rules.format_range && number > rules.format_range->second)
    return wrong("format", "above the most of its format,", rules.format_range->second);
  return true;
}

bool Evaluation::judge_string(const Node& node, const std::string& text, const Where& where) {
  const StringRules& rules = *node.string;
  if (rules.min_length || rules.max_length) {
    const size_t length = count_code_points(text);
    const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
      return fail(node, keyword, where, [&] {
        return fmt::format("has {} {}, {} than {}: {}", length,
                           length == 1 ? "character" : "characters", words, bound, quote(text));
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
    if (holds_open(*node.one_of[i], value, where)) fitting.push_back(i);
  }
  if (fitting.size() == 1) {
    // That the others do not fit is the standard's affair; what the one allows may be closed.
    return !where.closed || judge_branch(*node.one_of[fitting[0]], &node.one_of, value, where);
  }
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
