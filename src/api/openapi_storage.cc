#include "api/openapi_storage.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string_view>

namespace windrow::api {
namespace {

constexpr std::string_view kStorageSchemas = R"json({
"Moment": {"description": "seconds since 1970", "type": ["integer", "null"]},
"FileUpload": {
  "type": "object",
  "required": ["purpose", "file"],
  "properties": {
    "purpose": {"const": "batch"},
    "file": {"type": "string", "format": "binary",
      "description": "one request a line, as JSON; plain, gzip or zstd"},
    "expires_after[anchor]": {"const": "created_at"},
    "expires_after[seconds]": {"type": "integer", "minimum": 3600, "maximum": 2592000}
  },
  "additionalProperties": false
},
"File": {
  "type": "object",
  "required": ["id", "object", "bytes", "created_at", "filename", "purpose", "status"],
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "file"},
    "bytes": {"type": "integer", "minimum": 0},
    "created_at": {"type": "integer"},
    "expires_at": {"$ref": "#/components/schemas/Moment"},
    "filename": {"type": "string"},
    "purpose": {"enum": ["batch", "batch_output"]},
    "status": {"const": "processed"}
  }
},
"FileList": {
  "type": "object",
  "required": ["object", "data", "has_more"],
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/File"}},
    "first_id": {"type": ["string", "null"]},
    "last_id": {"type": ["string", "null"]},
    "has_more": {"type": "boolean"}
  }
},
"FileDeleted": {
  "type": "object",
  "required": ["id", "object", "deleted"],
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "file"},
    "deleted": {"const": true}
  }
},
"BatchCreation": {
  "type": "object",
  "required": ["input_file_id", "endpoint"],
  "properties": {
    "input_file_id": {"type": "string"},
    "endpoint": {"enum": ["/v1/chat/completions", "/v1/completions", "/v1/embeddings",
      "/v1/rerank"]},
    "completion_window": {"type": ["string", "null"], "pattern": "^[0-9]+h$", "default": "24h"},
    "metadata": {
      "type": ["object", "null"],
      "maxProperties": 16,
      "propertyNames": {"maxLength": 64},
      "additionalProperties": {"type": "string", "maxLength": 512}
    },
    "output_expires_after": {
      "type": ["object", "null"],
      "required": ["anchor", "seconds"],
      "properties": {
        "anchor": {"const": "created_at"},
        "seconds": {"type": "integer", "minimum": 3600, "maximum": 2592000}
      }
    }
  },
  "additionalProperties": false
},
"Batch": {
  "type": "object",
  "required": ["id", "object", "endpoint", "input_file_id", "completion_window", "status",
    "created_at", "request_counts"],
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "batch"},
    "endpoint": {"type": "string"},
    "model": {"type": ["string", "null"]},
    "errors": {
      "type": ["object", "null"],
      "properties": {
        "object": {"const": "list"},
        "data": {"type": "array", "items": {
          "type": "object",
          "required": ["code", "message"],
          "properties": {
            "code": {"type": "string"},
            "message": {"type": "string"},
            "param": {"type": ["string", "null"]},
            "line": {"type": ["integer", "null"]}
          }
        }}
      }
    },
    "input_file_id": {"type": "string"},
    "completion_window": {"type": "string"},
    "status": {"enum": ["validating", "failed", "in_progress", "finalizing", "completed", "expired",
      "cancelling", "cancelled"]},
    "output_file_id": {"type": ["string", "null"]},
    "error_file_id": {"type": ["string", "null"]},
    "created_at": {"type": "integer"},
    "in_progress_at": {"$ref": "#/components/schemas/Moment"},
    "expires_at": {"$ref": "#/components/schemas/Moment"},
    "finalizing_at": {"$ref": "#/components/schemas/Moment"},
    "completed_at": {"$ref": "#/components/schemas/Moment"},
    "failed_at": {"$ref": "#/components/schemas/Moment"},
    "expired_at": {"$ref": "#/components/schemas/Moment"},
    "cancelling_at": {"$ref": "#/components/schemas/Moment"},
    "cancelled_at": {"$ref": "#/components/schemas/Moment"},
    "request_counts": {
      "type": "object",
      "required": ["total", "completed", "failed"],
      "properties": {
        "total": {"type": "integer"},
        "completed": {"type": "integer"},
        "failed": {"type": "integer"}
      }
    },
    "usage": {
      "type": "object",
      "properties": {
        "input_tokens": {"type": "integer"},
        "input_tokens_details": {"type": "object"},
        "output_tokens": {"type": "integer"},
        "output_tokens_details": {"type": "object"},
        "total_tokens": {"type": "integer"}
      }
    },
    "metadata": {"type": ["object", "null"]},
    "windrow": {
      "type": "object",
      "properties": {"note": {"type": "string",
        "description": "why it does not go on at the moment; it does by itself"}}
    }
  }
},
"BatchList": {
  "type": "object",
  "required": ["object", "data", "has_more"],
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/Batch"}},
    "first_id": {"type": ["string", "null"]},
    "last_id": {"type": ["string", "null"]},
    "has_more": {"type": "boolean"}
  }
}
})json";

}  // namespace

boost::json::object storage_schemas() {
  return boost::json::parse(kStorageSchemas).as_object();
}

}  // namespace windrow::api
