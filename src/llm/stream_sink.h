// StreamSink: receives an answer while it is generated, delta by delta.
//
// Invariant: the deltas of a choice together are the choice. Joined, their text, reasoning, tool
// calls and tokens are those of the Choice, and the last delta has its finish reason. An answer
// that fails may have had deltas before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/answer.h"
#include "llm/tool_call.h"

namespace windrow::llm {

// A piece of one choice. Text comes in whole characters, and only once it cannot become part of a
// stop text. Within a delta, text precedes tool calls; text after a call is in another delta.
struct Delta {
  int32_t choice = 0;      // in Answer::choices
  int32_t text_begin = 0;  // Choice::text_begin, in each delta of the choice
  std::string text;
  std::string reasoning;
  std::string refusal;
  std::vector<ToolCallPiece> tool_calls;
  std::vector<ScoredToken> tokens;  // with Request::logprobs_top

  // With Request::return_token_ids: the tokens, each with the last of the text that it made; and,
  // in the first delta of a choice, those of its prompt.
  std::vector<int32_t> token_ids;
  std::vector<int32_t> prompt_token_ids;

  // Set in the last delta of a choice:
  std::optional<FinishReason> finish_reason;
  bool cut_character = false;
  std::optional<std::string> stopped_by;
  std::optional<int32_t> stopped_by_token;

  // One event of an upstream's stream, a line of JSON that is passed on unchanged. Then nothing
  // above is set. The event with only the usage is one of them, whether the client asked for it or
  // not. If the upstream does not stream, there are no deltas, and Answer::raw has the answer.
  std::string raw;

  friend bool operator==(const Delta&, const Delta&) = default;
};

// Its approximate size in memory.
inline size_t bytes_of(const Delta& piece) {
  size_t bytes = sizeof(piece) + piece.text.size() + piece.reasoning.size() + piece.refusal.size() +
                 piece.raw.size();
  for (const ToolCallPiece& call : piece.tool_calls)
    bytes += sizeof(call) + call.id.size() + call.name.size() + call.arguments.size();
  for (const ScoredToken& token : piece.tokens)
    bytes += bytes_of(token);
  bytes += (piece.token_ids.size() + piece.prompt_token_ids.size()) * sizeof(int32_t);
  return bytes;
}

// Adds a delta to those that a reader has not had. Where the order allows it is merged into the
// last one of its choice, so that together they are no longer than the answer.
inline void append(std::vector<Delta>& deltas, Delta delta) {
  for (auto last = deltas.rbegin(); delta.raw.empty() && last != deltas.rend(); ++last) {
    if (last->choice != delta.choice || !last->raw.empty()) continue;
    // Within a delta, text precedes tool calls.
    const bool says = !delta.text.empty() || !delta.reasoning.empty() || !delta.refusal.empty();
    if (says && !last->tool_calls.empty()) break;
    last->text += delta.text;
    last->reasoning += delta.reasoning;
    last->refusal += delta.refusal;
    join(last->tool_calls, std::move(delta.tool_calls));
    std::move(delta.tokens.begin(), delta.tokens.end(), std::back_inserter(last->tokens));
    last->token_ids.insert(last->token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
    if (delta.finish_reason) last->finish_reason = delta.finish_reason;
    last->cut_character = last->cut_character || delta.cut_character;
    if (delta.stopped_by) last->stopped_by = std::move(delta.stopped_by);
    if (delta.stopped_by_token) last->stopped_by_token = delta.stopped_by_token;
    return;
  }
  deltas.push_back(std::move(delta));
}

class StreamSink {
 public:
  virtual ~StreamSink() = default;

  // Called in the order of the answer, one call at a time, before the Done of the request, on a
  // thread of the backend, which it blocks: pass the delta on and return.
  virtual void on_delta(Delta piece) = 0;
};

}  // namespace windrow::llm
