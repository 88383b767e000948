#include "api/dialects/openapi_dialects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "api/dialects/translation.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

struct Form {
  std::string_view name;
  std::string_view schema;  // as JSON
};

constexpr std::string_view kString = R"({"type":["string","null"]})";
constexpr std::string_view kBool = R"({"type":["boolean","null"]})";
constexpr std::string_view kObject = R"({"type":["object","null"]})";
constexpr std::string_view kFromOne = R"({"type":["integer","null"],"minimum":1})";
constexpr std::string_view kUpToOne =
    R"({"type":["number","null"],"exclusiveMinimum":0,"maximum":1})";
constexpr std::string_view kPenalty = R"({"type":["number","null"],"minimum":-2,"maximum":2})";
constexpr std::string_view kObjects = R"({"type":["array","null"],"items":{"type":"object"}})";
constexpr std::string_view kTexts = R"({"type":["array","null"],"items":{"type":"string"}})";

// What both dialects have under one name has one form; fields that are not listed may be anything
// their description allows.
constexpr auto kForms = std::to_array<Form>({
    {"model", kString},
    {"instructions", kString},
    {"input", R"({"anyOf":[{"type":"string"},
      {"type":"array","minItems":1,"items":{"type":"object"}}]})"},
    {"system", R"({"anyOf":[{"type":["string","null"]},
      {"type":"array","items":{"type":"object"}}]})"},
    {"messages", R"({"type":"array","minItems":1,"items":{"type":"object",
      "required":["role","content"]}})"},
    {"max_output_tokens", kFromOne},
    {"max_tokens", R"({"type":"integer","minimum":1})"},
    {"stop_sequences", R"({"type":["array","null"],"maxItems":16,"items":{"type":"string"}})"},
    {"temperature", R"({"type":["number","null"],"minimum":0,"maximum":2})"},
    {"top_p", kUpToOne},
    {"top_k", R"({"type":["integer","null"],"minimum":-1})"},
    {"min_p", R"({"type":["number","null"],"minimum":0,"maximum":1})"},
    {"seed", R"({"type":["integer","null"]})"},
    {"presence_penalty", kPenalty},
    {"frequency_penalty", kPenalty},
    {"repetition_penalty", R"({"type":["number","null"],"minimum":0.01,"maximum":10})"},
    {"logit_bias", kObject},
    {"chat_template_kwargs", kObject},
    {"text", kObject},
    {"output_config", kObject},
    {"thinking", kObject},
    {"reasoning", kObject},
    {"metadata", kObject},
    {"tools", kObjects},
    {"include", kTexts},
    {"parallel_tool_calls", kBool},
    {"stream", kBool},
    {"top_logprobs", R"({"type":["integer","null"],"minimum":0,"maximum":20})"},
});

constexpr std::string_view kSchemas = R"json({
"Response": {
  "type": "object",
  "required": ["id", "object", "created_at", "status", "error", "incomplete_details", "model",
               "output", "parallel_tool_calls", "store", "temperature", "text", "tool_choice",
               "tools", "top_p", "usage"],
  "properties": {
    "id": {"type": "string", "pattern": "^resp_"},
    "object": {"const": "response"},
    "created_at": {"type": "integer"},
    "status": {"enum": ["in_progress", "completed", "incomplete", "failed"]},
    "error": {"type": ["object", "null"], "required": ["code", "message"]},
    "incomplete_details": {"type": ["object", "null"], "required": ["reason"]},
    "model": {"type": "string"},
    "store": {"const": false},
    "output": {"type": "array", "items": {"$ref": "#/components/schemas/ResponseItem"}},
    "usage": {
      "type": ["object", "null"],
      "required": ["input_tokens", "input_tokens_details", "output_tokens",
                   "output_tokens_details", "total_tokens"]
    }
  }
},
"ResponseItem": {
  "type": "object",
  "required": ["id", "type", "status"],
  "properties": {
    "id": {"type": "string"},
    "type": {"enum": ["message", "reasoning", "function_call"]},
    "status": {"enum": ["in_progress", "completed", "incomplete"]},
    "structure": {"$ref": "#/components/schemas/StructureLabel"}
  },
  "oneOf": [
    {"required": ["role", "content"], "properties": {"type": {"const": "message"}}},
    {"required": ["summary", "content"], "properties": {"type": {"const": "reasoning"}}},
    {"required": ["call_id", "name", "arguments"],
     "properties": {"type": {"const": "function_call"}}}
  ]
},
"ResponseEvent": {
  "description": "the data of one event; the last one has the whole response",
  "type": "object",
  "required": ["type", "sequence_number"],
  "properties": {
    "type": {"type": "string", "pattern": "^response\\."},
    "sequence_number": {"type": "integer", "minimum": 0},
    "response": {"$ref": "#/components/schemas/Response"},
    "item": {"$ref": "#/components/schemas/ResponseItem"}
  }
},
"AnthropicMessage": {
  "type": "object",
  "required": ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"],
  "properties": {
    "id": {"type": "string", "pattern": "^msg_"},
    "type": {"const": "message"},
    "role": {"const": "assistant"},
    "model": {"type": "string"},
    "content": {"type": "array", "items": {
      "type": "object",
      "required": ["type"],
      "properties": {"type": {"enum": ["text", "thinking", "tool_use"]}},
      "oneOf": [
        {"required": ["text"], "properties": {"type": {"const": "text"}}},
        {"required": ["thinking", "signature"], "properties": {"type": {"const": "thinking"}}},
        {"required": ["id", "name", "input"], "properties": {"type": {"const": "tool_use"}}}
      ]
    }},
    "stop_reason": {"enum": ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal",
                             null]},
    "stop_sequence": {"type": ["string", "null"]},
    "structure": {"$ref": "#/components/schemas/StructureLabel"},
    "usage": {
      "type": "object",
      "required": ["input_tokens", "cache_read_input_tokens", "output_tokens"]
    }
  }
},
"AnthropicEvent": {
  "description": "the data of one event",
  "type": "object",
  "required": ["type"],
  "properties": {
    "type": {"enum": ["message_start", "content_block_start", "content_block_delta",
                      "content_block_stop", "message_delta", "message_stop", "ping", "error"]},
    "message": {"$ref": "#/components/schemas/AnthropicMessage"}
  }
},
"AnthropicError": {
  "type": "object",
  "required": ["type", "error", "request_id"],
  "properties": {
    "type": {"const": "error"},
    "error": {
      "type": "object",
      "required": ["type", "message"],
      "properties": {"type": {"type": "string"}, "message": {"type": "string"}}
    },
    "request_id": {"type": "string"}
  }
},
"TokenCount": {
  "type": "object",
  "required": ["input_tokens"],
  "properties": {"input_tokens": {"type": "integer", "minimum": 0}}
}
})json";

json::object form_of(std::string_view name) {
  const auto form = std::ranges::find_if(kForms, [&](const Form& one) { return one.name == name; });
  if (form == kForms.end()) return {};
  return json::parse(form->schema).as_object();
}

json::object property_of(const TranslatedRule& rule) {
  json::object schema;
  switch (rule.use) {
    case llm::FieldUse::kHonoured:
      schema = form_of(rule.name);
      schema["description"] = rule.values;
      break;
    case llm::FieldUse::kWithoutEffect:
      schema["description"] = fmt::format("accepted without effect: {}", rule.values);
      break;
    case llm::FieldUse::kRefused: {
      json::array taken{nullptr};
      if (!rule.values.empty()) taken.push_back(json::parse(rule.values));
      schema["enum"] = std::move(taken);
      schema["description"] = fmt::format("refused: {}", rule.instead);
      break;
    }
  }
  return schema;
}

}  // namespace

std::string_view body_schema_name(Dialect dialect) {
  return dialect == Dialect::kMessages ? "AnthropicMessageRequest" : "ResponseRequest";
}

json::object body_schema(Dialect dialect) {
  json::object properties;
  for (const TranslatedRule& rule : translated_rules(dialect))
    properties[rule.name] = property_of(rule);
  const json::array required =
      dialect == Dialect::kMessages ? json::array{"messages", "max_tokens"} : json::array{"input"};
  return {{"type", "object"},
          {"description", "A field that is not listed is refused by name."},
          {"required", required},
          {"properties", std::move(properties)}};
}

json::object dialect_schemas() {
  json::object schemas = json::parse(kSchemas).as_object();
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages})
    schemas[body_schema_name(dialect)] = body_schema(dialect);
  // Whose tokens are counted need not say how long its answer may be.
  json::object counted = body_schema(Dialect::kMessages);
  counted["required"] = json::array{"messages"};
  schemas["TokenCountRequest"] = std::move(counted);
  return schemas;
}

}  // namespace windrow::api
