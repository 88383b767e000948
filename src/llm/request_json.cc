#include "llm/request_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <vector>

#include "base/suggest.h"
#include "llm/request_fields.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr std::array kEndpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions,
                                   Endpoint::kEmbeddings, Endpoint::kRerank};

constexpr std::array<std::string_view, kEndpoints.size()> kUrls = {
    "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank"};

// 1 and 1.0 are the same number, whatever the parser made of them.
bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

Problem refuse(const FieldRule& rule, const json::value& value) {
  if (rule.values.empty()) {
    return unsupported(
        rule.name, fmt::format("{} is not supported, so remove it: {}", rule.name, rule.instead));
  }
  if (same(value, json::parse(rule.values))) return std::nullopt;
  return unsupported(
      rule.name, fmt::format("{} must be {}, or absent: {}", rule.name, rule.values, rule.instead));
}

Problem read_field(const Field& field, const json::value& value, Draft& draft) {
  if (field.read == nullptr) return refuse(field.rule, value);
  return field.read(field.rule.name, value, draft);
}

Failure unknown_field(Endpoint endpoint, std::string_view name) {
  std::vector<std::string_view> others;
  for (const Endpoint other : kEndpoints) {
    const Field* field = find_field(other, name);
    if (field != nullptr && field->rule.use != FieldUse::kRefused) others.push_back(url_of(other));
  }
  const std::string param = shown(name);
  if (!others.empty()) {
    return unsupported(param, fmt::format("{} belongs to {}, not to {}", param,
                                          fmt::join(others, " and "), url_of(endpoint)));
  }
  std::vector<std::string_view> names;
  for (const FieldRule& rule : field_rules()) {
    if (rule.endpoints.contains(endpoint) && rule.use != FieldUse::kRefused)
      names.push_back(rule.name);
  }
  return unsupported(
      param, fmt::format("\"{}\" is not a field that {} supports{}", param, url_of(endpoint),
                         did_you_mean(name, names, "; remove it")));
}

bool has(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  return value != nullptr && !value->is_null();
}

Problem need(Endpoint endpoint, const json::object& body, std::string_view name) {
  if (has(body, name)) return std::nullopt;
  return missing_parameter(
      name, fmt::format("the body has no {}, which {} needs", name, url_of(endpoint)));
}

Problem need_all(Endpoint endpoint, const json::object& body) {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
      if (has(body, "prompt_token_ids")) return std::nullopt;
      return need(endpoint, body, "messages");
    case Endpoint::kCompletions:
      return need(endpoint, body, "prompt");
    case Endpoint::kEmbeddings:
      return need(endpoint, body, "input");
    case Endpoint::kRerank:
      break;
  }
  if (Problem problem = need(endpoint, body, "query")) return problem;
  return need(endpoint, body, "documents");
}

// What several fields mean together.
Problem settle(Draft& draft) {
  const bool chat = draft.request.endpoint == Endpoint::kChatCompletions;
  if (!chat && draft.request.endpoint != Endpoint::kCompletions) return std::nullopt;
  if (Problem problem = settle_sampling(draft)) return problem;
  if (Problem problem = settle_structure(draft)) return problem;
  return chat ? settle_chat(draft) : settle_completions(draft);
}

}  // namespace

std::optional<Endpoint> endpoint_of(std::string_view url) {
  for (const Endpoint endpoint : kEndpoints) {
    if (url == url_of(endpoint)) return endpoint;
  }
  return std::nullopt;
}

std::string_view url_of(Endpoint endpoint) {
  return kUrls[static_cast<size_t>(endpoint)];
}

std::span<const Endpoint> endpoints() {
  return kEndpoints;
}

std::string endpoint_urls() {
  std::string urls;
  for (const Endpoint endpoint : kEndpoints) {
    if (!urls.empty()) urls += endpoint == kEndpoints.back() ? " or " : ", ";
    urls += url_of(endpoint);
  }
  return urls;
}

const FieldRule* find_rule(Endpoint endpoint, std::string_view name) {
  const Field* field = find_field(endpoint, name);
  return field == nullptr ? nullptr : &field->rule;
}

std::vector<std::string> take_unknown_fields(Endpoint endpoint, json::object& body) {
  std::vector<std::string> names;
  json::object known(body.storage());
  for (auto& [name, value] : body) {
    if (find_field(endpoint, name) != nullptr) {
      known.emplace(name, std::move(value));
    } else if (!value.is_null()) {
      names.emplace_back(name);
    }
  }
  body = std::move(known);
  return names;
}

std::optional<Failure> check_field(Endpoint endpoint, std::string_view name,
                                   const json::value& value) {
  if (value.is_null()) return std::nullopt;
  const Field* field = find_field(endpoint, name);
  if (field == nullptr) return unknown_field(endpoint, name);
  Draft draft;
  draft.request.endpoint = endpoint;
  return read_field(*field, value, draft);
}

std::variant<Request, Failure> parse_request(Endpoint endpoint, const json::object& body,
                                             uint64_t seed_default) {
  Draft draft;
  draft.request.endpoint = endpoint;
  draft.request.sampling.seed = seed_default;
  if (Problem problem = need_all(endpoint, body)) return *std::move(problem);
  for (const auto& [name, value] : body) {
    if (value.is_null()) continue;
    const Field* field = find_field(endpoint, name);
    if (field == nullptr) return unknown_field(endpoint, name);
    if (Problem problem = read_field(*field, value, draft)) return *std::move(problem);
  }
  if (Problem problem = settle(draft)) return *std::move(problem);
  return std::move(draft.request);
}

}  // namespace windrow::llm
