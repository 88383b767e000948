// StructureSpec: what an answer has to be, as a request says it. What it means is for whoever
// answers: the engine here makes a grammar of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/tool_call.h"

namespace windrow::llm {

// What becomes of names in a JSON Schema that are no keywords, and of formats that are not known.
enum class UnknownWords : uint8_t {
  kAnnotate,  // they have no effect, and Answer::structure_warnings names them
  kRefuse,
};

struct StructureSpec {
  enum class Kind : uint8_t {
    kJsonSchema,  // JSON that is valid under `text`, a JSON Schema
    kJsonObject,  // any JSON object
    kRegex,       // a text that the expression `text` matches as a whole
    kGrammar,     // a text of the grammar `text`, in GBNF
    kChoice,      // one of `choices`
    kToolCalls,   // calls of the tools in `text`, as `tool_choice` says
  };

  Kind kind = Kind::kJsonObject;
  std::string text;
  std::vector<std::string> choices;

  // kJsonSchema and kJsonObject: white space between words; otherwise there is none.
  bool flexible_whitespace = false;

  // kJsonSchema: where `additionalProperties` is absent, others than those declared may be there.
  bool open = false;

  // kJsonSchema and kToolCalls.
  UnknownWords unknown = UnknownWords::kAnnotate;

  // kToolCalls, where `text` is a request's `tools`. Calls are written in the way of the model that
  // answers; under kAuto they come when the model wants them.
  ToolChoice tool_choice;

  // Of the other kinds: a request's `tools` whose calls may come instead, as `tool_choice` says;
  // empty: there are none.
  std::string tools;

  // The body field that asked for it, for messages: "response_format".
  std::string param;

  friend bool operator==(const StructureSpec&, const StructureSpec&) = default;
};

}  // namespace windrow::llm
