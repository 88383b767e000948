// What the engine adds to the calls of tools that a model writes (chat/tool_call_stream.h): ids,
// and the end of an answer that may have only one. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "chat/reasoning_stream.h"
#include "chat/tool_call_stream.h"
#include "engine/host/types.h"
#include "llm/answer.h"
#include "llm/tool_call.h"

namespace windrow::engine {

// Of one answer, so that the ids of its calls are its own: those of another prompt or another seed
// are others, and the same question asked again has the same.
uint64_t call_seed(std::span<const Token> prompt, uint64_t sampling_seed);

// "call_" and 24 letters and digits.
std::string call_id(uint64_t seed, int32_t index);

// The calls in what an answer says become Choice::tool_calls, and the rest its text. An answer that
// ended by itself then waits for what its calls bring, if all of them are whole. Where one broke
// off, Choice::when_whole has it as text.
void take_calls(const std::shared_ptr<const chat::ToolContext>& tools, uint64_t seed,
                llm::Choice& choice);

// Whether an answer is over behind its only call (chat::ToolContext::several), as its text comes.
class CallEnd {
 public:
  CallEnd(const chat::ReasoningContext& reasoning, std::shared_ptr<const chat::ToolContext> tools);

  // `text`: all of the answer's so far that is settled, in whole characters.
  bool reached(std::string_view text);

 private:
  chat::ReasoningStream thoughts_;
  chat::ToolCallStream calls_;
  size_t taken_bytes_ = 0;
};

}  // namespace windrow::engine
