#include "api/wire/translation.h"
#include "api/wire/body_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/suggest.h"
#include "llm/raw_body.h"
#include "llm/request_fields.h"

namespace windrow::api {
namespace {

bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

bool begins_step(char byte) {
  return byte == '.' || byte == '[';
}

// "messages[2].content" -> itself, "messages[2]", "messages".
std::vector<std::string_view> with_ancestors(std::string_view param) {
  std::vector<std::string_view> all{param};
  for (size_t i = param.size(); i-- > 1;) {
    if (begins_step(param[i])) all.push_back(param.substr(0, i));
  }
  return all;
}

bool begins_there(std::string_view text, size_t at) {
  return at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.');
}

// With `with_parts` the name of a part may follow; otherwise it would be another field.
bool ends_there(std::string_view text, size_t end, bool with_parts) {
  if (end == text.size()) return true;
  if (is_word(text[end])) return false;
  const bool part =
      text[end] == '[' || (text[end] == '.' && end + 1 < text.size() && is_word(text[end + 1]));
  return with_parts || !part;
}

}  // namespace

void Origins::add(std::string made, std::string sent) {
  if (made != sent) pairs_.emplace_back(std::move(made), std::move(sent));
}

std::string Origins::of(std::string_view made) const {
  for (const std::string_view part : with_ancestors(made)) {
    const auto found = std::ranges::find(pairs_, part, [](const auto& pair) { return pair.first; });
    if (found != pairs_.end()) return found->second + std::string(made.substr(part.size()));
  }
  return std::string(made);
}

llm::Failure Origins::to_client(llm::Failure failure) const {
  failure.raw.clear();  // it names fields of the translated body
  if (failure.param.empty()) return failure;
  // The longest first, so each place is rewritten once.
  const std::vector<std::string_view> names = with_ancestors(failure.param);
  std::string message;
  const std::string_view text = failure.message;
  for (size_t at = 0; at < text.size();) {
    const auto name = std::ranges::find_if(names, [&](std::string_view one) {
      return text.substr(at).starts_with(one) && begins_there(text, at) &&
             ends_there(text, at + one.size(), one.size() == failure.param.size());
    });
    if (name == names.end()) {
      message += text[at++];
    } else {
      message += of(*name);
      at += name->size();
    }
  }
  failure.message = std::move(message);
  failure.param = of(failure.param);
  return failure;
}

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

namespace {

bool says_something(const llm::Answer& answer, llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kEmbeddings ? !answer.embeddings.empty()
                                                : !answer.choices.empty();
}

}  // namespace

llm::Outcome to_canonical(llm::Endpoint endpoint, const Origins& origins, llm::Outcome outcome) {
  if (auto* failure = std::get_if<llm::Failure>(&outcome))
    return origins.to_client(std::move(*failure));
  const llm::Answer& answer = std::get<llm::Answer>(outcome);
  if (answer.raw.empty()) return outcome;
  std::optional<llm::Answer> read = endpoint == llm::Endpoint::kEmbeddings
                                        ? llm::read_raw_embeddings(answer.raw)
                                        : llm::read_raw_answer(answer.raw);
  if (!read || !says_something(*read, endpoint)) {
    return llm::Failure{
        .failure_class = llm::FailureClass::kTransient,
        .status = 502,
        .code = "invalid_reply",
        .message = "the server that was asked sent what is no answer to this request",
        .usage = answer.usage};
  }
  read->truncated = answer.truncated;
  read->timings = answer.timings;
  return *std::move(read);
}

}  // namespace windrow::api
