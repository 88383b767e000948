#include "api/calls/call_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <utility>

#include "api/wire/responses_reply.h"
#include "api/wire/translation.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "dispatch/work_item.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/parse.h"
#include "json/values.h"
#include "llm/body_reader.h"
#include "llm/field_values.h"
#include "llm/raw_body.h"
#include "llm/request_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

// How much of an invalid body an error shows, from the byte at fault.
constexpr size_t kShownOfBody = 20;

std::string place_in(std::string_view body, size_t at) {
  if (at >= body.size()) return ", where the body ends";
  return fmt::format(", at \"{}\"", utf8_repair(llm::shown(body.substr(at, kShownOfBody))));
}

llm::Failure refused(int32_t status, std::string code, std::string message,
                     std::string param = "") {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = status,
          .code = std::move(code),
          .message = std::move(message),
          .param = std::move(param)};
}

// For errors: "the models are chat, embed".
std::string names_of(const ModelRegistry& registry) {
  constexpr size_t kNamesMax = 10;
  std::string names;
  size_t count = 0;
  for (const ServedModel& model : registry.list()) {
    if (++count > kNamesMax) return fmt::format("the models are {}, ...", names);
    if (!names.empty()) names += ", ";
    names += model.name;
  }
  if (count == 0) return "this server has none";
  return fmt::format("{} {}", count == 1 ? "the only model is" : "the models are", names);
}

}  // namespace

std::variant<json::object, llm::Failure> parse_body(std::string_view body) {
  auto parsed = parse_json(body);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    if (body.empty())
      return refused(400, "invalid_json", "the body is empty; it must be a JSON object");
    if (fault->kind == JsonFault::Kind::kTooDeep) {
      return refused(
          400, "invalid_json",
          fmt::format("the body is nested more than {} deep; flatten it", kJsonDepthMax));
    }
    return refused(400, "invalid_json",
                   fmt::format("the body is not valid JSON in UTF-8: {} near byte {}{}",
                               fault->reason, fault->byte, place_in(body, fault->byte - 1)));
  }
  auto& value = std::get<json::value>(parsed);
  if (!value.is_object()) {
    return refused(400, "invalid_json",
                   fmt::format("the body is {}; it must be a JSON object", kind_name(value)));
  }
  return std::move(value.get_object());
}

std::variant<const ServedModel*, llm::Failure> find_model(llm::Endpoint endpoint, Dialect dialect,
                                                          const json::object& body,
                                                          const ModelRegistry& registry) {
  const json::value* name = body.if_contains("model");
  const bool given = name != nullptr && !name->is_null();
  if (given && !name->is_string()) return llm::wrong_kind("model", "a string", *name);
  const bool named = given && !name->get_string().empty();
  const std::string_view text = named ? std::string_view(name->get_string()) : "";
  const ServedModel* model = is_ollama(dialect) ? find_tagged(registry, text) : registry.find(text);
  // Some clients, TEI's for example, name no model.
  if (!named && (model == nullptr || !model->endpoints.contains(endpoint))) {
    const ServedModel* only = registry.only_one_for(endpoint);
    if (only != nullptr) model = only;
  }
  if (model == nullptr) {
    if (!named) {
      return llm::missing_parameter("model",
                                    fmt::format("the body has no model; {}", names_of(registry)));
    }
    return refused(404, "model_not_found",
                   fmt::format("there is no model \"{}\"; {}", llm::shown(name->get_string()),
                               names_of(registry)),
                   "model");
  }
  return model;
}

namespace {

std::variant<const ServedModel*, llm::Failure> choose(llm::Endpoint endpoint, Dialect dialect,
                                                      const json::object& body,
                                                      const ModelRegistry& registry) {
  auto found = find_model(endpoint, dialect, body, registry);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
  const auto* model = std::get<const ServedModel*>(found);
  if (!model->endpoints.contains(endpoint)) {
    return refused(
        400, "unsupported_by_model",
        fmt::format("the model {} does not answer {}", model->name, url_of(endpoint, dialect)),
        "model");
  }
  return model;
}

// {"query", "texts", "raw_scores", "return_text", "truncate"} becomes a body of /v1/rerank.
std::optional<llm::Failure> read_tei(json::object& body, CallPlan& plan) {
  plan.tei = true;
  body["documents"] = std::move(body["texts"]);
  body.erase("texts");
  if (const auto found = body.find("return_text"); found != body.end()) {
    body["return_documents"] = std::move(found->value());
    body.erase("return_text");
  }
  if (const json::value* raw = body.if_contains("raw_scores")) {
    if (!raw->is_null() && !raw->is_bool()) {
      return llm::wrong_kind("raw_scores", "true or false", *raw);
    }
    plan.raw_scores = raw->is_bool() && raw->get_bool();
    body.erase("raw_scores");
  }
  // TEI's default is not to truncate.
  const json::value* truncate = body.if_contains("truncate");
  if (truncate != nullptr && truncate->is_bool() && !truncate->get_bool()) {
    body.erase("truncate");
    body.erase("truncation_direction");
  }
  return std::nullopt;
}

// Removes a named priority, which upstreams do not know. A number is vLLM's, and stays.
std::string without_priority(std::string_view body) {
  std::string text;
  for (const JsonMember& member : json_members(body)) {
    if (json_key_is(member.key, "priority")) continue;
    text += text.empty() ? '{' : ',';
    text.append(member.key).append(1, ':').append(member.value);
  }
  return text.empty() ? "{}" : text + '}';
}

// The envelope's fields in the body that upstreams do not know.
struct Framing {
  bool stream = false;
  bool own_priority = false;
};

Framing framing_of(const json::object& body) {
  const json::value* priority = body.if_contains("priority");
  return {.stream = body.contains("stream") || body.contains("stream_options"),
          .own_priority = priority != nullptr && priority->is_string()};
}

llm::Request request_elsewhere(const std::string& sent, const CallRules& rules,
                               const CallPlan& plan, Framing framing, json::object& body) {
  std::string rewritten;
  if (plan.tei) {
    rewritten = json::serialize(body);
  } else if (framing.own_priority) {
    rewritten = without_priority(sent);
  }
  const std::string& text = rewritten.empty() ? sent : rewritten;
  // Put back, so that raw_request() also removes it from the text.
  if (framing.stream) body["stream"] = plan.envelope.stream;
  return llm::raw_request(plan.endpoint, text, body, rules.body.defaults);
}

// Counts token ids of logit_bias that are not in the vocabulary: clients often send ids of OpenAI's
// models. Ids that no vocabulary has were dropped when the body was read.
int32_t ignored_tokens(const json::object& body, const llm::Request& request,
                       int32_t vocabulary_size) {
  const json::value* biases = body.if_contains("logit_bias");
  if (vocabulary_size <= 0 || biases == nullptr || !biases->is_object()) return 0;
  const auto known = std::ranges::count_if(
      request.sampling.logit_bias,
      [&](const llm::LogitBias& bias) { return bias.token < vocabulary_size; });
  return static_cast<int32_t>(biases->get_object().size()) - static_cast<int32_t>(known);
}

// `body` is the client's body in the endpoint's own format, and `sent` its text.
std::variant<CallPlan, llm::Failure> read_body(const CallInput& input, llm::Endpoint endpoint,
                                               const std::string& sent, json::object& body,
                                               const Translation* translation,
                                               const CallRules& rules,
                                               const ModelRegistry& registry) {
  CallPlan plan{.endpoint = endpoint};
  const Framing framing = framing_of(body);
  auto opened = open_envelope(endpoint, body, input.headers);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  plan.envelope = std::move(std::get<Envelope>(opened));
  plan.envelope.priority = std::max(plan.envelope.priority, input.priority_max);

  auto chosen = choose(endpoint, input.dialect, body, registry);
  if (auto* failure = std::get_if<llm::Failure>(&chosen)) return std::move(*failure);
  plan.model = std::get<const ServedModel*>(chosen);

  if (input.may_be_tei && body.contains("texts")) {
    if (auto problem = read_tei(body, plan)) return *std::move(problem);
  }

  bool seeded = false;
  if (plan.model->raw) {
    if (translation != nullptr) add_wishes(translation->wishes, body);
    plan.request = request_elsewhere(sent, rules, plan, framing, body);
  } else {
    plan.ignored_fields = llm::complete_body(endpoint, rules.body, body);
    auto made = llm::read_body(endpoint, rules.body, body, input.chance);
    if (auto* failure = std::get_if<llm::Failure>(&made)) return std::move(*failure);
    auto& [request, has_seed] = std::get<llm::ReadBody>(made);
    if (request.prompt_logprobs_top && plan.envelope.stream) {
      return llm::unsupported("prompt_logprobs",
                              "prompt_logprobs is not supported beside \"stream\": true; take one "
                              "of them out");
    }
    plan.request = std::move(request);
    seeded = has_seed;
    if (plan.request.model.empty()) plan.request.model = plan.model->name;
    plan.ignored_tokens = ignored_tokens(body, plan.request, plan.model->vocabulary_size);
    if (translation != nullptr) plan.request.chat.wishes = translation->wishes;
  }
  if (plan.model->residence) {
    plan.load_wait = std::make_shared<llm::LoadWait>();
    if (rules.load_wait > Duration{}) plan.load_wait->until = input.arrived_at + rules.load_wait;
  }
  plan.model_name = plan.request.model.empty() ? plan.model->name : plan.request.model;

  const std::optional<Hash128> question =
      rules.coalesce ? llm::question_of(plan.request, sent, seeded) : std::nullopt;
  plan.item = dispatch::request_item(plan.request, sent.size(), question);
  plan.item.priority = plan.envelope.priority;
  plan.item.lane = lane_id(input.key, plan.envelope.lane);
  plan.item.tenant = dispatch::tenant_id(input.key);
  plan.item.weight = input.weight;
  plan.item.upstreams = plan.model->upstreams;
  if (plan.envelope.deadline) plan.item.deadline = input.arrived_at + *plan.envelope.deadline;
  if (translation != nullptr) {
    const json::value* logprobs = translation->chat.if_contains("logprobs");
    plan.lists_logprobs = logprobs != nullptr && *logprobs == true;
  }
  if (input.dialect == Dialect::kResponses)
    plan.echo = responses_echo(translation->echo, body, plan.model->raw);
  return plan;
}

// Reads a body that only names a model.
std::variant<CallPlan, llm::Failure> read_order(const CallInput& input, json::object& body,
                                                const ModelRegistry& registry) {
  auto opened = open_envelope(input.endpoint, body, input.headers);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  auto chosen = find_model(input.endpoint, input.dialect, body, registry);
  if (auto* failure = std::get_if<llm::Failure>(&chosen)) return std::move(*failure);
  CallPlan plan{.model = std::get<const ServedModel*>(chosen),
                .envelope = std::move(std::get<Envelope>(opened))};
  if (plan.envelope.deadline) plan.item.deadline = input.arrived_at + *plan.envelope.deadline;
  const json::value* name = body.if_contains("model");
  plan.model_name = name == nullptr ? plan.model->name : std::string(name->as_string());
  return plan;
}

}  // namespace

uint64_t lane_id(std::string_view key, std::string_view lane) {
  if (lane.empty()) return 0;
  return std::max<uint64_t>(hash64(fmt::format("{}\n{}", key, lane)), 1);
}

std::variant<CallPlan, llm::Failure> read_call(const CallInput& input, const CallRules& rules,
                                               const ModelRegistry& registry,
                                               const EarlierItems* earlier) {
  auto parsed = parse_body(input.body);
  if (auto* failure = std::get_if<llm::Failure>(&parsed)) return std::move(*failure);
  auto& body = std::get<json::object>(parsed);
  if (input.dialect == Dialect::kOwn)
    return read_body(input, input.endpoint, input.body, body, nullptr, rules, registry);

  std::vector<std::string> ignored;
  if (rules.body.unknown_fields == llm::UnknownFields::kIgnore)
    ignored = take_unknown_fields(input.dialect, body);
  auto translated =
      translate(input.dialect, body, {.counts_only = input.counts_only, .earlier = earlier});
  if (auto* failure = std::get_if<llm::Failure>(&translated)) return std::move(*failure);
  auto& translation = std::get<Translation>(translated);
  const std::string sent = whole_text(translation);
  body = translation.chat;
  auto read =
      translation.action == ModelAction::kAnswer
          ? read_body(input, translation.endpoint, sent, body, &translation, rules, registry)
          : read_order(input, body, registry);
  if (auto* failure = std::get_if<llm::Failure>(&read))
    return translation.origins.to_client(std::move(*failure));
  auto& plan = std::get<CallPlan>(read);
  plan.origins = std::move(translation.origins);
  plan.ignored_fields = std::move(ignored);
  if (ResponseTurn& turn = translation.turn; turn.store) {
    plan.kept = StoredResponse{.id = input.call_id,
                               .previous_id = std::move(turn.previous_id),
                               .input = stored_items(input.call_id, std::move(turn.input_items))};
  }
  plan.action = translation.action;
  plan.unloads_after = translation.unloads_after;
  return read;
}

}  // namespace windrow::api
