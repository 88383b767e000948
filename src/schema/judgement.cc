#include "schema/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "schema/keywords.h"

namespace windrow::schema {
namespace {

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

bool Judgement::found(const Pattern& pattern, std::string_view text) {
  pattern_work_ += static_cast<int64_t>(pattern.size()) * static_cast<int64_t>(text.size() + 1);
  if (pattern_work_ > limits_.pattern_work_max)
    return give_up("has too much text for the patterns it is judged by");
  return pattern.found_in(text);
}

void Judgement::report(const Node& node, std::string_view keyword, const Place* place,
                       const std::string& words) {
  std::vector<const Place*> path;
  for (const Place* at = place; at != nullptr; at = at->outer)
    path.push_back(at);
  Violation& violation = *violation_;
  violation.kind = Violation::Kind::kSchema;
  violation.instance_pointer.clear();
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    violation.instance_pointer +=
        (*at)->is_item ? fmt::format("/{}", (*at)->index) : pointer_step((*at)->name);
  }
  violation.schema_pointer = node.at;
  if (!keyword.empty()) violation.schema_pointer += pointer_step(keyword);
  violation.message =
      fmt::format("{} {} ({} of the schema)",
                  violation.instance_pointer.empty() ? "the answer" : violation.instance_pointer,
                  words, violation.schema_pointer.empty() ? "all" : violation.schema_pointer);
}

bool fits_type(Judgement& judgement, const Node& node, const Value& value, const Place* place) {
  if (node.types == 0 || (node.types & types_of(value)) != 0) return true;
  return judgement.fail(node, "type", place, [&] {
    return fmt::format("is {}, not {}: {}", kind_name(value), type_names(node.types), quote(value));
  });
}

bool fits_enum(Judgement& judgement, const Node& node, const Value& value, const Place* place) {
  if (node.constant && !(*node.constant == value)) {
    return judgement.fail(node, "const", place, [&] {
      return fmt::format("is {}, not {}", quote(value), quote(*node.constant));
    });
  }
  if (!node.options) return true;
  const auto [first, last] =
      std::equal_range(node.options->begin(), node.options->end(), value,
                       [](const Value& a, const Value& b) { return a.hash() < b.hash(); });
  if (std::find(first, last, value) != last) return true;
  return judgement.fail(node, "enum", place, [&] {
    return fmt::format("is {}, which is none of {}", quote(value), listed(*node.options));
  });
}

bool fits_number_rules(Judgement& judgement, const Node& node, const Decimal& number,
                       const Place* place) {
  const NumberRules& rules = *node.number;
  const auto wrong = [&](std::string_view keyword, std::string_view words, const Decimal& bound) {
    return judgement.fail(node, keyword, place, [&] {
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

bool fits_string_rules(Judgement& judgement, const Node& node, const std::string& text,
                       const Place* place) {
  const StringRules& rules = *node.string;
  if (rules.min_length || rules.max_length) {
    const size_t length = count_code_points(text);
    const auto wrong = [&](std::string_view keyword, std::string_view words, uint64_t bound) {
      return judgement.fail(node, keyword, place, [&] {
        return fmt::format("has {} {}, {} than {}: {}", length,
                           length == 1 ? "character" : "characters", words, bound, quote(text));
      });
    };
    if (rules.min_length && length < *rules.min_length)
      return wrong("minLength", "fewer", *rules.min_length);
    if (rules.max_length && length > *rules.max_length)
      return wrong("maxLength", "more", *rules.max_length);
  }
  if (rules.pattern != nullptr && !judgement.found(*rules.pattern, text)) {
    return judgement.fail(node, "pattern", place, [&] {
      return fmt::format("is {}, which does not match the pattern {}", quote(text),
                         quote(rules.pattern->source()));
    });
  }
  if (rules.format && !conforms(*rules.format, text)) {
    return judgement.fail(node, "format", place, [&] {
      return fmt::format("is {}, which is no {}", quote(text), to_string(*rules.format));
    });
  }
  return true;
}

}  // namespace windrow::schema
