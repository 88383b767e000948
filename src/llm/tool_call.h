// Tool calls: functions that a model asks its client to run. A request lists the tools and says
// whether they are to be called; an answer has the calls beside its text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace windrow::llm {

enum class ToolUse : uint8_t {
  kAuto,      // the model decides
  kNone,      // no call; the model does not see the tools
  kRequired,  // at least one call
  kNamed,     // a call of ToolChoice::name, and nothing else
};

// How a request's tools are used.
struct ToolChoice {
  ToolUse use = ToolUse::kAuto;
  std::string name;      // kNamed
  bool parallel = true;  // an answer may have more than one call

  // Members of arguments come in any order, instead of that of the tool's schema.
  bool any_order = false;

  friend bool operator==(const ToolChoice&, const ToolChoice&) = default;
};

// Whether the answer must be tool calls and nothing else.
inline bool has_to_call(const ToolChoice& choice) {
  return choice.use == ToolUse::kRequired || choice.use == ToolUse::kNamed;
}

struct ToolCall {
  std::string id;         // "call_" and 24 letters and digits; unique
  std::string name;       // a tool of the request
  std::string arguments;  // JSON text of an object

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// A piece of a call in a streamed answer. The first piece of a call has its id and name; the
// arguments of all pieces joined are the call's.
struct ToolCallPiece {
  int32_t index = 0;  // in Choice::tool_calls
  std::string id;
  std::string name;
  std::string arguments;

  friend bool operator==(const ToolCallPiece&, const ToolCallPiece&) = default;
};

// Appends `more` to `pieces`, where a piece of the same call as the last one is joined to it.
inline void join(std::vector<ToolCallPiece>& pieces, std::vector<ToolCallPiece> more) {
  for (ToolCallPiece& piece : more) {
    if (pieces.empty() || pieces.back().index != piece.index) {
      pieces.push_back(std::move(piece));
    } else {
      pieces.back().arguments += piece.arguments;
    }
  }
}

}  // namespace windrow::llm
