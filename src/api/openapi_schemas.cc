#include "api/openapi_schemas.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string_view>

namespace windrow::api {
namespace {

constexpr std::string_view kSchemas = R"json({
"Input": {
  "description": "one text or several, or the tokens they would become",
  "anyOf": [
    {"type": "string"},
    {"type": "array", "minItems": 1, "items": {"type": "string"}},
    {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
    {"type": "array", "minItems": 1, "items":
      {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}}
  ]
},
"Message": {
  "type": "object",
  "required": ["role"],
  "properties": {
    "role": {"type": "string"},
    "content": {"anyOf": [
      {"type": ["string", "null"]},
      {"type": "array", "items": {"type": "object", "required": ["type"]}}
    ]}
  }
},
"Usage": {
  "type": "object",
  "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
  "properties": {
    "prompt_tokens": {"type": "integer", "minimum": 0},
    "completion_tokens": {"type": "integer", "minimum": 0},
    "total_tokens": {"type": "integer", "minimum": 0},
    "prompt_tokens_details": {
      "type": "object",
      "properties": {"cached_tokens": {"type": "integer", "minimum": 0,
        "description": "of the prompt's, those that were there already"}}
    },
    "completion_tokens_details": {
      "type": "object",
      "properties": {"reasoning_tokens": {"type": "integer", "minimum": 0,
        "description": "of the completion's, those of reasoning_content"}}
    }
  }
},
"FinishReason": {"enum": ["stop", "length", "tool_calls"]},
"ToolCall": {
  "type": "object",
  "required": ["id", "type", "function"],
  "properties": {
    "id": {"type": "string"},
    "type": {"const": "function"},
    "function": {
      "type": "object",
      "required": ["name", "arguments"],
      "properties": {
        "name": {"type": "string"},
        "arguments": {"type": "string", "description": "the JSON text of an object"}
      }
    }
  }
},
"ToolCallDelta": {
  "description": "the first of a call has its id, type and name",
  "type": "object",
  "required": ["index", "function"],
  "properties": {
    "index": {"type": "integer", "minimum": 0},
    "id": {"type": "string"},
    "type": {"const": "function"},
    "function": {
      "type": "object",
      "required": ["arguments"],
      "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}}
    }
  }
},
"StructureLabel": {
  "description": "where a structure or a call was asked for: is it whole, or was it cut",
  "enum": ["valid", "truncated"]
},
"CutCharacter": {
  "description": "the answer reached a limit within a character: U+FFFD stands at its end",
  "const": true
},
"StructureWarnings": {
  "description": "what of the schemas has no effect, each with its JSON pointer",
  "type": "array",
  "items": {"type": "string"}
},
"Logprob": {
  "type": "object",
  "required": ["token", "logprob", "bytes"],
  "properties": {
    "token": {"type": "string"},
    "logprob": {"type": ["number", "null"]},
    "bytes": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0, "maximum": 255}}
  }
},
"ChatLogprobs": {
  "type": ["object", "null"],
  "required": ["content"],
  "properties": {
    "content": {"type": "array", "items": {
      "allOf": [{"$ref": "#/components/schemas/Logprob"}],
      "required": ["top_logprobs"],
      "properties": {"top_logprobs": {"type": "array",
        "items": {"$ref": "#/components/schemas/Logprob"}}}
    }}
  }
},
"CompletionLogprobs": {
  "type": ["object", "null"],
  "required": ["tokens", "token_logprobs", "top_logprobs", "text_offset"],
  "properties": {
    "tokens": {"type": "array", "items": {"type": "string"}},
    "token_logprobs": {"type": "array", "items": {"type": ["number", "null"]}},
    "top_logprobs": {"type": ["array", "null"], "items": {"type": ["object", "null"],
      "additionalProperties": {"type": "number"}}},
    "text_offset": {"type": "array", "items": {"type": "integer", "minimum": 0}}
  }
},
"ChatCompletion": {
  "type": "object",
  "required": ["id", "object", "created", "model", "choices", "usage"],
  "properties": {
    "id": {"type": "string", "pattern": "^chatcmpl-"},
    "object": {"const": "chat.completion"},
    "created": {"type": "integer"},
    "model": {"type": "string"},
    "service_tier": {"enum": ["default", "flex", "priority"]},
    "system_fingerprint": {"type": "string"},
    "structure_warnings": {"$ref": "#/components/schemas/StructureWarnings"},
    "usage": {"$ref": "#/components/schemas/Usage"},
    "choices": {"type": "array", "items": {
      "type": "object",
      "required": ["index", "message", "logprobs", "finish_reason"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "message": {
          "type": "object",
          "required": ["role", "content", "refusal"],
          "properties": {
            "role": {"const": "assistant"},
            "content": {"type": ["string", "null"], "description": "null beside calls alone"},
            "reasoning_content": {"type": "string"},
            "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}},
            "refusal": {"type": "null"}
          }
        },
        "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
        "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
        "structure": {"$ref": "#/components/schemas/StructureLabel"},
        "cut_character": {"$ref": "#/components/schemas/CutCharacter"}
      }
    }}
  }
},
"ChatCompletionChunk": {
  "description": "the data of one event; the last one is [DONE]",
  "type": "object",
  "required": ["id", "object", "created", "model", "choices"],
  "properties": {
    "id": {"type": "string", "pattern": "^chatcmpl-"},
    "object": {"const": "chat.completion.chunk"},
    "created": {"type": "integer"},
    "model": {"type": "string"},
    "service_tier": {"enum": ["default", "flex", "priority"]},
    "system_fingerprint": {"type": "string"},
    "structure_warnings": {"$ref": "#/components/schemas/StructureWarnings"},
    "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
    "choices": {"type": "array", "items": {
      "type": "object",
      "required": ["index", "delta", "logprobs", "finish_reason"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "delta": {
          "type": "object",
          "properties": {
            "role": {"const": "assistant"},
            "content": {"type": "string"},
            "reasoning_content": {"type": "string"},
            "tool_calls": {"type": "array",
              "items": {"$ref": "#/components/schemas/ToolCallDelta"}},
            "refusal": {"type": "null"}
          }
        },
        "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
        "finish_reason": {
          "anyOf": [{"$ref": "#/components/schemas/FinishReason"}, {"type": "null"}]},
        "structure": {"$ref": "#/components/schemas/StructureLabel"},
        "cut_character": {"$ref": "#/components/schemas/CutCharacter"}
      }
    }}
  }
},
"Completion": {
  "description": "also the data of an event; then usage and finish_reason may be null",
  "type": "object",
  "required": ["id", "object", "created", "model", "choices"],
  "properties": {
    "id": {"type": "string", "pattern": "^cmpl-"},
    "object": {"const": "text_completion"},
    "created": {"type": "integer"},
    "model": {"type": "string"},
    "service_tier": {"enum": ["default", "flex", "priority"]},
    "system_fingerprint": {"type": "string"},
    "structure_warnings": {"$ref": "#/components/schemas/StructureWarnings"},
    "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
    "choices": {"type": "array", "items": {
      "type": "object",
      "required": ["index", "text", "logprobs", "finish_reason"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "text": {"type": "string"},
        "logprobs": {"$ref": "#/components/schemas/CompletionLogprobs"},
        "finish_reason": {
          "anyOf": [{"$ref": "#/components/schemas/FinishReason"}, {"type": "null"}]},
        "structure": {"$ref": "#/components/schemas/StructureLabel"},
        "cut_character": {"$ref": "#/components/schemas/CutCharacter"}
      }
    }}
  }
},
"EmbeddingList": {
  "type": "object",
  "required": ["object", "data", "model", "usage"],
  "properties": {
    "object": {"const": "list"},
    "model": {"type": "string"},
    "data": {"type": "array", "items": {
      "type": "object",
      "required": ["object", "index", "embedding"],
      "properties": {
        "object": {"const": "embedding"},
        "index": {"type": "integer", "minimum": 0},
        "embedding": {
          "description": "of length 1; base64: four bytes each, the lowest first",
          "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]}
      }
    }},
    "usage": {
      "type": "object",
      "required": ["prompt_tokens", "total_tokens"],
      "properties": {
        "prompt_tokens": {"type": "integer", "minimum": 0},
        "total_tokens": {"type": "integer", "minimum": 0}
      }
    }
  }
},
"Ranking": {
  "type": "object",
  "required": ["id", "model", "results", "usage"],
  "properties": {
    "id": {"type": "string", "pattern": "^rerank-"},
    "model": {"type": "string"},
    "results": {"description": "the highest score first", "type": "array", "items": {
      "type": "object",
      "required": ["index", "relevance_score"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "relevance_score": {"type": "number"},
        "document": {
          "type": "object",
          "required": ["text"],
          "properties": {"text": {"type": "string"}}
        }
      }
    }},
    "usage": {
      "type": "object",
      "required": ["total_tokens"],
      "properties": {"total_tokens": {"type": "integer", "minimum": 0}}
    }
  }
},
"TeiRerankRequest": {
  "description": "the form of text-embeddings-inference",
  "type": "object",
  "required": ["query", "texts"],
  "properties": {
    "query": {"type": "string"},
    "texts": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "raw_scores": {"type": ["boolean", "null"], "description": "false: scores are from 0 to 1"},
    "return_text": {"type": ["boolean", "null"]},
    "truncate": {"enum": [false, null], "description": "a text that is too long is refused"}
  }
},
"TeiRanking": {
  "type": "array",
  "items": {
    "type": "object",
    "required": ["index", "score"],
    "properties": {
      "index": {"type": "integer", "minimum": 0},
      "score": {"type": "number"},
      "text": {"type": "string"}
    }
  }
},
"Model": {
  "type": "object",
  "required": ["id", "object", "created", "owned_by"],
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "model"},
    "created": {"type": "integer"},
    "owned_by": {"type": "string"},
    "max_model_len": {"type": "integer", "minimum": 1, "description": "tokens of one request"},
    "endpoints": {"type": "array", "items": {"type": "string"}},
    "windrow": {
      "description": "of a model here, which comes when it is asked for",
      "type": "object",
      "required": ["state", "memory_bytes", "kept_loaded", "requests_inside", "requests_waiting"],
      "properties": {
        "state": {"enum": ["not_loaded", "loading", "loaded", "unloading"]},
        "memory_bytes": {"type": "integer", "minimum": 0},
        "kept_loaded": {"type": "boolean"},
        "requests_inside": {"type": "integer", "minimum": 0},
        "requests_waiting": {"type": "integer", "minimum": 0, "description": "for it to come"}
      }
    }
  }
},
"ModelList": {
  "type": "object",
  "required": ["object", "data"],
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}
  }
},
"LiveRequestList": {
  "type": "object",
  "required": ["object", "total", "data"],
  "properties": {
    "object": {"const": "list"},
    "total": {"type": "integer", "minimum": 0},
    "data": {"description": "the oldest first", "type": "array", "items": {
      "type": "object",
      "required": ["id", "object", "endpoint", "model", "state", "priority", "stream", "body_bytes",
                   "age_ms", "tokens"],
      "properties": {
        "id": {"type": "string"},
        "object": {"const": "windrow.request"},
        "endpoint": {"type": "string"},
        "model": {"type": "string"},
        "state": {"enum": ["reading", "loading", "inside", "waiting", "answering"]},
        "priority": {"enum": ["interactive", "normal", "batch"]},
        "stream": {"type": "boolean"},
        "body_bytes": {"type": "integer", "minimum": 0},
        "age_ms": {"type": "integer"},
        "tokens": {"type": "integer", "minimum": 0},
        "key": {"type": "string"},
        "lane": {"type": "string"},
        "ttft_ms": {"type": "integer"}
      }
    }}
  }
},
"State": {
  "type": "object",
  "required": ["status"],
  "properties": {
    "status": {"enum": ["ok", "ready"]},
    "unreachable": {
      "type": "array",
      "items": {"type": "string"},
      "description": "Models that nobody who can be reached has."
    }
  }
},
"Error": {
  "type": "object",
  "required": ["error"],
  "properties": {
    "error": {
      "type": "object",
      "required": ["message", "type", "param", "code"],
      "properties": {
        "message": {"type": "string", "description": "what, where, what to do"},
        "type": {"type": "string"},
        "param": {"type": ["string", "null"], "description": "the field at fault"},
        "code": {"type": ["string", "null"], "description": "short and stable"}
      }
    }
  }
}
})json";

}  // namespace

boost::json::object reply_schemas() {
  return boost::json::parse(kSchemas).as_object();
}

}  // namespace windrow::api
