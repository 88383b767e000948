// StructureSpec: the structure that a request demands of its answer. The engine compiles it into a
// grammar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/tool_call.h"

namespace windrow::llm {

// How unknown keywords and formats of a JSON Schema are treated.
enum class UnknownWords : uint8_t {
  kAnnotate,  // ignored, and named in Answer::structure_warnings
  kRefuse,
};

struct StructureSpec {
  enum class Kind : uint8_t {
    kJsonSchema,  // JSON that is valid under `text`, a JSON Schema
    kJsonObject,  // any JSON object
    kRegex,       // a text that the regular expression `text` matches as a whole
    kGrammar,     // a text of the grammar `text`, in GBNF
    kChoice,      // one of `choices`
    kToolCalls,   // calls of the tools in `text`, by `tool_choice`
  };

  Kind kind = Kind::kJsonObject;
  std::string text;
  std::vector<std::string> choices;

  // kJsonSchema and kJsonObject: white space between tokens is allowed.
  bool flexible_whitespace = false;

  // kJsonSchema: other than the declared properties are allowed where `additionalProperties` is
  // absent.
  bool open = false;

  // kJsonSchema: members of objects come in any order, instead of that of the schema.
  bool any_order = false;

  // kJsonSchema and kToolCalls.
  UnknownWords unknown = UnknownWords::kAnnotate;

  // kToolCalls, where `text` is the request's `tools`. Calls are written in the format of the
  // model.
  ToolChoice tool_choice;

  // For the other kinds: the request's `tools` that may be called instead, by `tool_choice`; empty
  // if there are none.
  std::string tools;

  // The body field that demands it, for messages: "response_format".
  std::string param;

  friend bool operator==(const StructureSpec&, const StructureSpec&) = default;
};

}  // namespace windrow::llm
