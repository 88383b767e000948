#include "api/dialects/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/dialects/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Problem;

std::span<const TranslatedField> fields_of(Dialect dialect) {
  return dialect == Dialect::kMessages ? messages_fields() : responses_fields();
}

// 1 and 1.0 are the same number.
bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

Problem refuse(const TranslatedRule& rule, const json::value& value) {
  if (rule.values.empty()) {
    return llm::unsupported(
        rule.name, fmt::format("{} is not supported: {}; take it out", rule.name, rule.instead));
  }
  if (same(value, json::parse(rule.values))) return std::nullopt;
  return llm::unsupported(
      rule.name, fmt::format("{} must be {}, or absent: {}", rule.name, rule.values, rule.instead));
}

Problem find_unknown(Dialect dialect, const json::object& body) {
  for (const auto& [name, value] : body) {
    const std::string_view key = name;
    if (value.is_null()) continue;
    if (std::ranges::any_of(fields_of(dialect),
                            [&](const TranslatedField& field) { return field.rule.name == key; }))
      continue;
    const std::string param = llm::shown(key);
    return llm::unsupported(param,
                            fmt::format("{} is not a field that {} supports; take it out", param,
                                        url_of(llm::Endpoint::kChatCompletions, dialect)));
  }
  return std::nullopt;
}

std::vector<TranslatedRule> rules_of(Dialect dialect) {
  std::vector<TranslatedRule> rules;
  for (const TranslatedField& field : fields_of(dialect))
    rules.push_back(field.rule);
  return rules;
}

}  // namespace

std::string TranslationDraft::add_message(json::object message, std::string_view sent) {
  std::string name = fmt::format("messages[{}]", messages.size());
  made.origins.add(name, std::string(sent));
  messages.emplace_back(std::move(message));
  return name;
}

Problem pass_on(std::string_view name, const json::value& value, TranslationDraft& draft) {
  draft.made.chat[name] = value;
  return std::nullopt;
}

Problem ignore_field(std::string_view, const json::value&, TranslationDraft&) {
  return std::nullopt;
}

void pass_as(std::string_view made, std::string_view sent, const json::value& value,
             TranslationDraft& draft) {
  draft.made.chat[made] = value;
  draft.made.origins.add(std::string(made), std::string(sent));
}

Problem wish_effort(std::string_view place, const json::value& value, TranslationDraft& draft) {
  std::string effort;
  if (Problem problem = llm::read_filled_string(value, place, effort)) return problem;
  draft.made.wishes["reasoning_effort"] = effort;
  return std::nullopt;
}

std::variant<Translation, llm::Failure> translate(Dialect dialect, const json::object& body,
                                                  bool counts_only) {
  TranslationDraft draft{.counts_only = counts_only};
  if (Problem problem = find_unknown(dialect, body)) return *std::move(problem);
  for (const TranslatedField& field : fields_of(dialect)) {
    const json::value* value = body.if_contains(field.rule.name);
    if (value == nullptr || value->is_null()) continue;
    Problem problem = field.read == nullptr ? refuse(field.rule, *value)
                                            : field.read(field.rule.name, *value, draft);
    if (problem) return *std::move(problem);
  }
  Problem problem =
      dialect == Dialect::kMessages ? settle_messages(body, draft) : settle_responses(body, draft);
  if (problem) return *std::move(problem);
  draft.made.chat["messages"] = std::move(draft.messages);
  return std::move(draft.made);
}

std::span<const TranslatedRule> translated_rules(Dialect dialect) {
  static const std::vector<TranslatedRule> of_responses = rules_of(Dialect::kResponses);
  static const std::vector<TranslatedRule> of_messages = rules_of(Dialect::kMessages);
  return dialect == Dialect::kMessages ? of_messages : of_responses;
}

}  // namespace windrow::api
