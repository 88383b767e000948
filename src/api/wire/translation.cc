#include "api/wire/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/body_fields.h"
#include "base/suggest.h"
#include "llm/request_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Problem;

std::span<const TranslatedField> fields_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMessages:
      return messages_fields();
    case Dialect::kOllamaChat:
      return ollama_chat_fields();
    case Dialect::kOllamaGenerate:
      return ollama_generate_fields();
    case Dialect::kOllamaEmbed:
      return ollama_embed_fields();
    case Dialect::kOllamaEmbeddings:
      return ollama_embeddings_fields();
    case Dialect::kResponses:
    case Dialect::kOwn:
      break;
  }
  return responses_fields();
}

Problem settle(Dialect dialect, const json::object& body, TranslationDraft& draft) {
  if (dialect == Dialect::kMessages) return settle_messages(body, draft);
  return is_ollama(dialect) ? settle_ollama(dialect, body, draft) : settle_responses(body, draft);
}

// 1 and 1.0 are the same number.
bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

Problem refuse(const TranslatedRule& rule, const json::value& value) {
  if (rule.values.empty()) {
    return llm::unsupported(
        rule.name, fmt::format("{} is not supported, so remove it: {}", rule.name, rule.instead));
  }
  if (same(value, json::parse(rule.values))) return std::nullopt;
  return llm::unsupported(
      rule.name, fmt::format("{} must be {}, or absent: {}", rule.name, rule.values, rule.instead));
}

bool is_field(Dialect dialect, std::string_view name) {
  return std::ranges::any_of(fields_of(dialect),
                             [&](const TranslatedField& field) { return field.rule.name == name; });
}

Problem find_unknown(Dialect dialect, const json::object& body) {
  for (const auto& [name, value] : body) {
    if (value.is_null() || is_field(dialect, name)) continue;
    std::vector<std::string_view> names;
    for (const TranslatedField& field : fields_of(dialect))
      names.push_back(field.rule.name);
    const std::string param = llm::shown(name);
    return llm::unsupported(param, fmt::format("\"{}\" is not a field that {} supports{}", param,
                                               url_of(llm::Endpoint::kChatCompletions, dialect),
                                               did_you_mean(name, names, "; remove it")));
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
  if (Problem problem = llm::read_effort(value, place, effort)) return problem;
  draft.made.wishes["reasoning_effort"] = effort;
  return std::nullopt;
}

std::variant<Translation, llm::Failure> translate(Dialect dialect, const json::object& body,
                                                  const TranslationContext& context) {
  TranslationDraft draft{.context = context};
  if (Problem problem = find_unknown(dialect, body)) return *std::move(problem);
  for (const TranslatedField& field : fields_of(dialect)) {
    const json::value* value = body.if_contains(field.rule.name);
    if (value == nullptr || value->is_null()) continue;
    Problem problem = field.read == nullptr ? refuse(field.rule, *value)
                                            : field.read(field.rule.name, *value, draft);
    if (problem) return *std::move(problem);
  }
  if (Problem problem = settle(dialect, body, draft)) return *std::move(problem);
  if (!draft.messages.empty()) draft.made.chat["messages"] = std::move(draft.messages);
  return std::move(draft.made);
}

std::vector<std::string> take_unknown_fields(Dialect dialect, json::object& body) {
  std::vector<std::string> names;
  json::object known(body.storage());
  for (auto& [name, value] : body) {
    if (is_field(dialect, name)) {
      known.emplace(name, std::move(value));
    } else if (!value.is_null()) {
      names.emplace_back(name);
    }
  }
  body = std::move(known);
  return names;
}

void add_wishes(const json::object& wishes, json::object& body) {
  for (const auto& [name, value] : wishes) {
    if (std::string_view(name) == "reasoning_effort") {
      body.emplace(name, value);
      continue;
    }
    json::value& arguments = body["chat_template_kwargs"];
    if (!arguments.is_object()) arguments = json::object();
    arguments.get_object().emplace(name, value);
  }
}

std::string whole_text(const Translation& translation) {
  json::object body = translation.chat;
  add_wishes(translation.wishes, body);
  return json::serialize(body);
}

std::span<const TranslatedRule> translated_rules(Dialect dialect) {
  static const auto all = [] {
    std::map<Dialect, std::vector<TranslatedRule>> rules;
    for (const llm::Endpoint endpoint : llm::endpoints()) {
      for (const Dialect one : dialects_of(endpoint))
        rules[one] = rules_of(one);
    }
    return rules;
  }();
  return all.at(dialect);
}

}  // namespace windrow::api
