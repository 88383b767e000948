#include "api/openapi_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/ensure.h"
#include "llm/request_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Endpoint;
using llm::EndpointSet;

constexpr EndpointSet kText{Endpoint::kCompletions};
constexpr EndpointSet kGenerating{Endpoint::kChatCompletions, Endpoint::kCompletions};
constexpr EndpointSet kAll{Endpoint::kChatCompletions, Endpoint::kCompletions,
                           Endpoint::kEmbeddings, Endpoint::kRerank};

struct FieldForm {
  std::string_view name;
  EndpointSet endpoints;
  std::string_view schema;  // as JSON
};

constexpr std::string_view kBool = R"({"type":"boolean"})";
constexpr std::string_view kString = R"({"type":"string"})";
constexpr std::string_view kFromOne = R"({"type":"integer","minimum":1})";
constexpr std::string_view kUpToOne = R"({"type":"number","exclusiveMinimum":0,"maximum":1})";
constexpr std::string_view kPenalty = R"({"type":"number","minimum":-2,"maximum":2})";
constexpr std::string_view kSchema = R"({"type":["object","boolean","string"]})";
constexpr std::string_view kInput = R"({"$ref":"#/components/schemas/Input"})";

// The forms of fields, where more than one value is accepted. Of two for one name and endpoint the
// first counts.
constexpr auto kForms = std::to_array<FieldForm>({
    {"model", kAll, kString},
    {"messages", kAll,
     R"({"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Message"}})"},
    {"tools", kAll, R"({"type":"array","items":{"type":"object"}})"},
    {"tool_choice", kAll, R"({"anyOf":[{"enum":["auto","none","required"]},{"type":"object"}]})"},
    {"chat_template_kwargs", kAll, R"({"type":"object"})"},
    {"reasoning_effort", kAll,
     R"({"enum":["none","minimal","low","medium","high","xhigh","max"]})"},
    {"prompt", kAll, kInput},
    {"echo", kAll, kBool},
    {"max_tokens", kText, R"({"type":"integer","minimum":0})"},
    {"max_tokens", kAll, kFromOne},
    {"max_completion_tokens", kAll, kFromOne},
    {"max_reasoning_tokens", kAll, R"({"type":"integer","minimum":0})"},
    {"n", kAll, R"({"type":"integer","minimum":1,"maximum":128})"},
    {"stop", kAll,
     R"({"anyOf":[{"type":"string"},{"type":"array","maxItems":16,"items":{"type":"string"}}]})"},
    {"ignore_eos", kAll, kBool},
    {"logprobs", kText, R"({"type":"integer","minimum":0,"maximum":20})"},
    {"logprobs", kAll, kBool},
    {"top_logprobs", kAll, R"({"type":"integer","minimum":0,"maximum":20})"},
    {"temperature", kAll, R"({"type":"number","minimum":0,"maximum":2})"},
    {"top_k", kAll, R"({"type":"integer","minimum":-1})"},
    {"top_p", kAll, kUpToOne},
    {"min_p", kAll, R"({"type":"number","minimum":0,"maximum":1})"},
    {"typical_p", kAll, kUpToOne},
    {"presence_penalty", kAll, kPenalty},
    {"frequency_penalty", kAll, kPenalty},
    {"repetition_penalty", kAll, R"({"type":"number","minimum":0.01,"maximum":10})"},
    {"repeat_penalty", kAll, R"({"type":"number","minimum":0.01,"maximum":10})"},
    {"logit_bias", kAll,
     R"({"type":"object","additionalProperties":{"type":"number","minimum":-100,"maximum":100}})"},
    {"seed", kAll, R"({"type":"integer"})"},
    {"response_format", kAll, R"({"type":"object","required":["type"],"properties":{"type":{"enum":
      ["text","json_schema","json_object","regex","grammar","choice"]}}})"},
    {"structured_outputs", kAll, R"({"type":"object"})"},
    {"guided_json", kAll, kSchema},
    {"guided_regex", kAll, kString},
    {"guided_choice", kAll, R"({"type":"array","items":{"type":"string"}})"},
    {"guided_grammar", kAll, kString},
    {"json_schema", kAll, kSchema},
    {"grammar", kAll, kString},
    {"schema_unknown", kAll, R"({"enum":["annotate","refuse"]})"},
    {"input", kAll, kInput},
    {"dimensions", kAll, kFromOne},
    {"encoding_format", kAll, R"({"enum":["float","base64"]})"},
    {"query", kAll, kString},
    {"documents", kAll, R"({"type":"array","minItems":1,"items":{"anyOf":[{"type":"string"},
      {"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}]}})"},
    {"top_n", kAll, kFromOne},
    {"return_documents", kAll, kBool},
    {"parallel_tool_calls", kAll, kBool},
    {"best_of", kText, kFromOne},
});

constexpr llm::FieldUse kHonouredFields = llm::FieldUse::kHonoured;

constexpr auto kServerFields = std::to_array<ServerField>({
    {"stream", kGenerating, kHonouredFields, R"({"type":["boolean","null"]})",
     "true: the answer comes as server-sent events while it is made"},
    {"stream", kAll, llm::FieldUse::kRefused, R"({"enum":[false,null]})",
     "answers of this endpoint come whole"},
    {"stream_options", kGenerating, kHonouredFields,
     R"({"type":["object","null"],"properties":{"include_usage":{"type":["boolean","null"]}}})",
     "with stream: true; include_usage adds a last event with the usage; include_obfuscation and "
     "continuous_usage_stats are accepted without effect"},
    {"priority", kAll, kHonouredFields,
     R"({"anyOf":[{"enum":["interactive","normal","batch"]},{"type":"integer"},{"type":"null"}]})",
     "who goes first: interactive, normal or batch; a number as vLLM has it: below 0 is "
     "interactive, 0 normal, above batch"},
    {"service_tier", kAll, kHonouredFields, R"({"enum":["auto","default","flex","priority",null]})",
     "OpenAI's name for it: priority is interactive, auto and default are normal, flex is batch"},
});

constexpr std::array<std::string_view, 4> kBodyNames = {
    "ChatCompletionRequest", "CompletionRequest", "EmbeddingRequest", "RerankRequest"};

json::array required_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
      return {"messages"};
    case Endpoint::kCompletions:
      return {"prompt"};
    case Endpoint::kEmbeddings:
      return {"input"};
    case Endpoint::kRerank:
      break;
  }
  return {"query", "documents"};
}

// Empty: any.
json::object form_of(Endpoint endpoint, std::string_view name) {
  const auto form = std::ranges::find_if(kForms, [&](const FieldForm& one) {
    return one.name == name && one.endpoints.contains(endpoint);
  });
  if (form == kForms.end()) return {};
  return json::parse(form->schema).as_object();
}

void allow_null(json::object& schema) {
  if (json::value* type = schema.if_contains("type")) {
    if (*type == "null") return;
    json::array types = type->is_array() ? type->as_array() : json::array{*type};
    types.emplace_back("null");
    *type = std::move(types);
  } else if (json::value* values = schema.if_contains("enum")) {
    values->as_array().emplace_back(nullptr);
  } else {
    json::array forms{schema, json::object{{"type", "null"}}};
    schema = {{"anyOf", std::move(forms)}};
  }
}

// Of a refused field: the value that is accepted all the same, where there is one.
json::object refusal_of(Endpoint endpoint, const llm::FieldRule& rule) {
  if (rule.values.empty()) return {{"type", "null"}};
  boost::system::error_code failed;
  json::value value = json::parse(rule.values, failed);
  if (failed) return form_of(endpoint, rule.name);  // it is said in words
  return {{"enum", json::array{std::move(value)}}};
}

json::object property_of(Endpoint endpoint, const llm::FieldRule& rule) {
  const bool is_refused = rule.use == llm::FieldUse::kRefused;
  json::object schema = is_refused ? refusal_of(endpoint, rule) : form_of(endpoint, rule.name);
  ENSURE(!schema.empty() || rule.use == llm::FieldUse::kWithoutEffect, "the field {} has no form",
         rule.name);
  const bool takes_null = !llm::check_field(endpoint, rule.name, nullptr).has_value();
  if (takes_null && !schema.empty()) allow_null(schema);
  const std::string exception =
      rule.values.empty() ? std::string() : fmt::format(", but for {}", rule.values);
  switch (rule.use) {
    case llm::FieldUse::kHonoured:
      schema["description"] = rule.values;
      break;
    case llm::FieldUse::kWithoutEffect:
      schema["description"] = fmt::format("accepted without effect: {}", rule.values);
      break;
    case llm::FieldUse::kRefused:
      schema["description"] = fmt::format("refused{}: {}", exception, rule.instead);
      break;
  }
  return schema;
}

}  // namespace

std::span<const ServerField> server_fields() {
  return kServerFields;
}

std::string_view body_schema_name(Endpoint endpoint) {
  return kBodyNames.at(static_cast<size_t>(endpoint));
}

json::object body_schema(Endpoint endpoint) {
  json::object properties;
  for (const llm::FieldRule& rule : llm::field_rules()) {
    if (rule.endpoints.contains(endpoint)) properties[rule.name] = property_of(endpoint, rule);
  }
  // Of two the first counts; all of them stand for what the table says of files of requests.
  json::object own;
  for (const ServerField& field : kServerFields) {
    if (!field.endpoints.contains(endpoint) || own.contains(field.name)) continue;
    json::object schema = json::parse(field.schema).as_object();
    schema["description"] = field.description;
    own[field.name] = std::move(schema);
  }
  for (auto& [name, schema] : own)
    properties[name] = std::move(schema);
  return {
      {"type", "object"},
      {"description",
       "A field that is not listed is refused by name, unless a server elsewhere answers or this "
       "one was started with --unknown-fields ignore."},
      {"required", required_of(endpoint)},
      {"properties", std::move(properties)}};
}

}  // namespace windrow::api
