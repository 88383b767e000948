// The text of an answer as its tokens bring it: stop texts (AnswerText) and tool calls (CallEnd,
// take_calls). Pure; used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/reasoning.h"
#include "chat/tool_call_stream.h"
#include "engine/host/types.h"
#include "llm/answer.h"
#include "llm/tool_call.h"

namespace windrow::engine {

// The bytes of an answer, watched for stop texts, which may begin in one token and end in another.
class AnswerText {
 public:
  // The answer ends before the first occurrence of any of `stop`, none of which is empty.
  explicit AnswerText(std::vector<std::string> stop) : stop_(std::move(stop)) {}

  // True when a stop text is now complete; the text then ends before it. The earliest one wins.
  bool append(std::string_view bytes);

  // Removes the last `bytes` bytes, which turned out not to belong to the answer. It is over.
  void drop_last(size_t bytes) { bytes_.resize(bytes_.size() - bytes); }

  // How many bytes from the front are final: no stop text and no incomplete character can begin in
  // them any more.
  size_t settled_bytes() const;

  const std::string& bytes() const { return bytes_; }

  // The stop text that was completed, if any.
  const std::optional<std::string>& stopped_by() const { return stopped_by_; }

 private:
  std::vector<std::string> stop_;
  std::string bytes_;
  std::optional<std::string> stopped_by_;
};

// --- tool calls (chat/tool_call_stream.h) ---

// The seed for the ids of an answer's calls: the same request asked again has the same ids, another
// prompt or another sampling seed has others.
uint64_t call_seed(std::span<const Token> prompt, uint64_t sampling_seed);

// "call_" and 24 letters and digits.
std::string call_id(uint64_t seed, int32_t index);

// Moves the calls in Choice::text to Choice::tool_calls. An answer that ended by itself then has
// kToolCalls as its finish reason, if all calls are complete. A call that broke off is text in
// Choice::when_whole, the form for clients that do not stream.
void take_calls(const std::shared_ptr<const chat::ToolContext>& tools, uint64_t seed,
                llm::Choice& choice);

// Whether an answer that may have only one call (chat::ToolContext::several) is over behind it.
class CallEnd {
 public:
  CallEnd(const chat::ReasoningContext& reasoning, std::shared_ptr<const chat::ToolContext> tools);

  // `text`: all of the answer's settled text so far.
  bool reached(std::string_view text);

 private:
  chat::ReasoningStream reasoning_;
  chat::ToolCallStream calls_;
  size_t taken_bytes_ = 0;
};

}  // namespace windrow::engine
