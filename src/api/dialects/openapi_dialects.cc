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

constexpr std::string_view kDialectString = R"({"type":["string","null"]})";
constexpr std::string_view kDialectBool = R"({"type":["boolean","null"]})";
constexpr std::string_view kObject = R"({"type":["object","null"]})";
constexpr std::string_view kDialectFromOne = R"({"type":["integer","null"],"minimum":1})";
constexpr std::string_view kDialectUpToOne =
    R"({"type":["number","null"],"exclusiveMinimum":0,"maximum":1})";
constexpr std::string_view kDialectPenalty =
    R"({"type":["number","null"],"minimum":-2,"maximum":2})";
constexpr std::string_view kObjects = R"({"type":["array","null"],"items":{"type":"object"}})";
constexpr std::string_view kTexts = R"({"type":["array","null"],"items":{"type":"string"}})";

// What both dialects have under one name has one form; fields that are not listed may be anything
// their description allows.
constexpr auto kDialectForms = std::to_array<Form>({
    {"model", kDialectString},
    {"instructions", kDialectString},
    {"input", R"({"anyOf":[{"type":"string"},
      {"type":"array","minItems":1,"items":{"type":"object"}}]})"},
    {"system", R"({"anyOf":[{"type":["string","null"]},
      {"type":"array","items":{"type":"object"}}]})"},
    {"messages", R"({"type":"array","minItems":1,"items":{"type":"object",
      "required":["role","content"]}})"},
    {"max_output_tokens", kDialectFromOne},
    {"max_tokens", R"({"type":"integer","minimum":1})"},
    {"stop_sequences", R"({"type":["array","null"],"maxItems":16,"items":{"type":"string"}})"},
    {"temperature", R"({"type":["number","null"],"minimum":0,"maximum":2})"},
    {"top_p", kDialectUpToOne},
    {"top_k", R"({"type":["integer","null"],"minimum":-1})"},
    {"min_p", R"({"type":["number","null"],"minimum":0,"maximum":1})"},
    {"seed", R"({"type":["integer","null"]})"},
    {"presence_penalty", kDialectPenalty},
    {"frequency_penalty", kDialectPenalty},
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
    {"parallel_tool_calls", kDialectBool},
    {"stream", kDialectBool},
    {"store", kDialectBool},
    {"previous_response_id", kDialectString},
    {"top_logprobs", R"({"type":["integer","null"],"minimum":0,"maximum":20})"},
});

// Of Ollama's, where the same name means another form or is no other's.
constexpr auto kOllamaForms = std::to_array<Form>({
    {"messages", R"({"type":["array","null"],"items":{"type":"object","required":["role"]}})"},
    {"prompt", kDialectString},
    {"input", R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})"},
    {"raw", kDialectBool},
    {"logprobs", kDialectBool},
    {"options", kObject},
    {"dimensions", kDialectFromOne},
});

constexpr std::string_view kDialectSchemas = R"json({
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
    "store": {"type": "boolean"},
    "previous_response_id": {"type": ["string", "null"]},
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
    "structure_warnings": {"$ref": "#/components/schemas/StructureWarnings"},
    "structure": {"$ref": "#/components/schemas/StructureLabel"},
    "cut_character": {"$ref": "#/components/schemas/CutCharacter"}
  },
  "oneOf": [
    {"required": ["role", "content"], "properties": {"type": {"const": "message"}}},
    {"required": ["summary", "content"], "properties": {"type": {"const": "reasoning"}}},
    {"required": ["call_id", "name", "arguments"],
     "properties": {"type": {"const": "function_call"}}}
  ]
},
"ResponseDeleted": {
  "type": "object",
  "required": ["id", "object", "deleted"],
  "properties": {
    "id": {"type": "string", "pattern": "^resp_"},
    "object": {"const": "response"},
    "deleted": {"const": true}
  }
},
"ResponseInputItems": {
  "type": "object",
  "required": ["object", "data", "first_id", "last_id", "has_more"],
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"type": "object", "required": ["id", "type"]}},
    "first_id": {"type": ["string", "null"]},
    "last_id": {"type": ["string", "null"]},
    "has_more": {"type": "boolean"}
  }
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
    "structure_warnings": {"$ref": "#/components/schemas/StructureWarnings"},
    "structure": {"$ref": "#/components/schemas/StructureLabel"},
    "cut_character": {"$ref": "#/components/schemas/CutCharacter"},
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
  "required": ["type", "error"],
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
"OllamaEnd": {
  "description": "what an answer that is whole has besides; durations are in nanoseconds",
  "type": "object",
  "properties": {
    "done_reason": {"enum": ["stop", "length", "load", "unload"]},
    "total_duration": {"type": "integer"},
    "load_duration": {"type": "integer"},
    "prompt_eval_count": {"type": "integer"},
    "prompt_eval_duration": {"type": "integer"},
    "eval_count": {"type": "integer"},
    "eval_duration": {"type": "integer"},
    "structure": {"$ref": "#/components/schemas/StructureLabel"}
  }
},
"OllamaChat": {
  "type": "object",
  "required": ["model", "created_at", "message", "done"],
  "allOf": [{"$ref": "#/components/schemas/OllamaEnd"}],
  "properties": {
    "model": {"type": "string"},
    "created_at": {"type": "string"},
    "message": {
      "type": "object",
      "required": ["role", "content"],
      "properties": {
        "role": {"const": "assistant"},
        "content": {"type": "string"},
        "thinking": {"type": "string"},
        "tool_calls": {"type": "array", "items": {"type": "object", "required": ["function"]}}
      }
    },
    "logprobs": {"type": "array"},
    "done": {"type": "boolean"}
  }
},
"OllamaGeneration": {
  "type": "object",
  "required": ["model", "created_at", "response", "done"],
  "allOf": [{"$ref": "#/components/schemas/OllamaEnd"}],
  "properties": {
    "model": {"type": "string"},
    "created_at": {"type": "string"},
    "response": {"type": "string"},
    "thinking": {"type": "string"},
    "logprobs": {"type": "array"},
    "done": {"type": "boolean"}
  }
},
"OllamaEmbeddings": {
  "type": "object",
  "required": ["model", "embeddings"],
  "properties": {
    "model": {"type": "string"},
    "embeddings": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    "total_duration": {"type": "integer"},
    "load_duration": {"type": "integer"},
    "prompt_eval_count": {"type": "integer"}
  }
},
"OllamaEmbedding": {
  "type": "object",
  "required": ["embedding"],
  "properties": {"embedding": {"type": "array", "items": {"type": "number"}}}
},
"OllamaModels": {
  "type": "object",
  "required": ["models"],
  "properties": {"models": {"type": "array", "items": {
    "type": "object", "required": ["name", "model", "size", "digest", "details"]}}}
},
"OllamaModel": {
  "type": "object",
  "required": ["details", "model_info", "capabilities"],
  "properties": {"capabilities": {"type": "array", "items": {"type": "string"}}}
},
"OllamaShowRequest": {
  "type": "object",
  "required": ["model"],
  "properties": {"model": {"type": "string"}}
},
"OllamaVersion": {
  "type": "object",
  "required": ["version"],
  "properties": {"version": {"type": "string"}}
},
"OllamaError": {
  "type": "object",
  "required": ["error"],
  "properties": {"error": {"type": "string"}}
},
"TokenCount": {
  "type": "object",
  "required": ["input_tokens"],
  "properties": {"input_tokens": {"type": "integer", "minimum": 0}}
}
})json";

json::object dialect_form(Dialect dialect, std::string_view name) {
  if (is_ollama(dialect)) {
    const auto own =
        std::ranges::find_if(kOllamaForms, [&](const Form& one) { return one.name == name; });
    if (own != kOllamaForms.end()) return json::parse(own->schema).as_object();
  }
  const auto form =
      std::ranges::find_if(kDialectForms, [&](const Form& one) { return one.name == name; });
  if (form == kDialectForms.end()) return {};
  return json::parse(form->schema).as_object();
}

json::object dialect_property(Dialect dialect, const TranslatedRule& rule) {
  json::object schema;
  switch (rule.use) {
    case llm::FieldUse::kHonoured:
      schema = dialect_form(dialect, rule.name);
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

json::array required_fields(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMessages:
      return {"messages", "max_tokens"};
    case Dialect::kOllamaChat:
    case Dialect::kOllamaGenerate:
      return {};
    case Dialect::kOllamaEmbeddings:
      return {"prompt"};
    case Dialect::kResponses:
    case Dialect::kOllamaEmbed:
    case Dialect::kOwn:
      break;
  }
  return {"input"};
}

}  // namespace

std::string_view body_schema_name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMessages:
      return "AnthropicMessageRequest";
    case Dialect::kOllamaChat:
      return "OllamaChatRequest";
    case Dialect::kOllamaGenerate:
      return "OllamaGenerationRequest";
    case Dialect::kOllamaEmbed:
      return "OllamaEmbeddingsRequest";
    case Dialect::kOllamaEmbeddings:
      return "OllamaEmbeddingRequest";
    case Dialect::kResponses:
    case Dialect::kOwn:
      break;
  }
  return "ResponseRequest";
}

json::object body_schema(Dialect dialect) {
  json::object properties;
  for (const TranslatedRule& rule : translated_rules(dialect))
    properties[rule.name] = dialect_property(dialect, rule);
  return {{"type", "object"},
          {"description",
           "A field that is not listed is refused by name, unless the server was started with "
           "--unknown-fields ignore."},
          {"required", required_fields(dialect)},
          {"properties", std::move(properties)}};
}

json::object dialect_schemas() {
  json::object schemas = json::parse(kDialectSchemas).as_object();
  for (const llm::Endpoint endpoint : llm::endpoints()) {
    for (const Dialect dialect : dialects_of(endpoint))
      schemas[body_schema_name(dialect)] = body_schema(dialect);
  }
  // Whose tokens are counted need not say how long its answer may be.
  json::object counted = body_schema(Dialect::kMessages);
  counted["required"] = json::array{"messages"};
  schemas["TokenCountRequest"] = std::move(counted);
  return schemas;
}

}  // namespace windrow::api
