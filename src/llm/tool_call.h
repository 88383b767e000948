// Calls of tools: what a model asks whoever asked it to do. A request says which tools there are
// and whether they are to be called; an answer has the calls beside its text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace windrow::llm {

enum class ToolUse : uint8_t {
  kAuto,      // the model decides
  kNone,      // no call; the tools are not shown to the model
  kRequired,  // at least one call
  kNamed,     // of ToolChoice::name, and nothing else
};

// Where a request has tools.
struct ToolChoice {
  ToolUse use = ToolUse::kAuto;
  std::string name;      // kNamed
  bool parallel = true;  // more than one call in an answer is welcome

  friend bool operator==(const ToolChoice&, const ToolChoice&) = default;
};

// Whether an answer is calls and nothing else.
inline bool has_to_call(const ToolChoice& choice) {
  return choice.use == ToolUse::kRequired || choice.use == ToolUse::kNamed;
}

struct ToolCall {
  std::string id;         // "call_" and 24 letters and digits; each call's own
  std::string name;       // of a tool of the request
  std::string arguments;  // JSON text of an object

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// Some more of one call, of an answer that is told while it is made. The first of a call has its id
// and its name; arguments joined are the call's.
struct ToolCallPiece {
  int32_t index = 0;  // in Choice::tool_calls
  std::string id;
  std::string name;
  std::string arguments;

  friend bool operator==(const ToolCallPiece&, const ToolCallPiece&) = default;
};

// What follows on `pieces` joins the last of them, as far as it is of the same call.
void join(std::vector<ToolCallPiece>& pieces, std::vector<ToolCallPiece> more);

}  // namespace windrow::llm
