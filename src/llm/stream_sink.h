// StreamSink: hears an answer while it is made, for those who read it as it comes.
//
// Invariant: the pieces of a choice together are the choice. Text and reasoning joined are the
// Choice's, so are the calls of tools, `tokens` joined are its list, and the last piece has its
// finish reason. Of an answer that fails there may have been pieces; what was said stays said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/answer.h"

namespace windrow::llm {

// Some more of one choice. Text comes in whole characters, and only what can no more become part
// of a stop text. Of one piece it comes before the calls: what is said behind a call is in another.
struct Delta {
  int32_t choice = 0;      // in Answer::choices
  int32_t text_begin = 0;  // Choice::text_begin, in each piece of the choice
  std::string text;
  std::string reasoning;
  std::string refusal;
  std::vector<ToolCallPiece> tool_calls;
  std::vector<ScoredToken> tokens;  // where Request::logprobs_top is given

  // Of the last piece of a choice.
  std::optional<FinishReason> finish_reason;
  bool cut_character = false;
  std::optional<std::string> stopped_by;

  // Of a server elsewhere: one event of its stream, a line of JSON that is passed on as it is. Then
  // none of the above is set. The event that tells only the usage is one of them, whether the
  // client asked for it or not. A server may answer as a whole all the same: then there are no
  // pieces, and the Answer's `raw` has it.
  std::string raw;

  friend bool operator==(const Delta&, const Delta&) = default;
};

// About what it holds in memory.
inline size_t bytes_of(const Delta& piece) {
  size_t bytes = sizeof(piece) + piece.text.size() + piece.reasoning.size() + piece.refusal.size() +
                 piece.raw.size();
  for (const ToolCallPiece& call : piece.tool_calls)
    bytes += sizeof(call) + call.id.size() + call.name.size() + call.arguments.size();
  for (const ScoredToken& token : piece.tokens)
    bytes += bytes_of(token);
  return bytes;
}

class StreamSink {
 public:
  virtual ~StreamSink() = default;

  // Before the Done of the request, in the order of the answer; one call at a time, on a thread of
  // the backend's, which waits for it: hand the piece on and return.
  virtual void on_delta(Delta piece) = 0;
};

}  // namespace windrow::llm
