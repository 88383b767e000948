// An answer in the shape of Anthropic's /v1/messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/wire/answer_blocks.h"
#include "api/wire/chat_facts.h"
#include "llm/answer.h"

namespace windrow::api {

// One line: {"id": "msg_...", "type": "message", "content": [...], ...}
std::string message_of(const ChatFacts& facts, const llm::Answer& answer);

// {"type": "error", "error": {"type", "message", "details"}, "request_id"}; `status` as the client
// gets it. There are details where clients go by them: `thread` was refused. An empty request_id is
// left out: rows of batches have none.
std::string message_error(int status, const llm::Failure& failure, std::string_view request_id);

// {"input_tokens": 12}
std::string token_count_of(int64_t tokens);

// --- parts of it, for streams ---

// Before anything is said.
void append_message_start(const ChatFacts& facts, std::string& text);

// The arguments of a call as a JSON object on one line. Text that is no object, as of a call that
// was cut, becomes the member "unparsed_arguments".
void append_call_input(std::string_view arguments, std::string& text);

// "stop_reason" and "stop_sequence", members of an object. `refused`: a block says so.
void append_stop(const AnswerEnding& ending, bool refused, std::string& text);

// What was read from what had been computed before is not among the input tokens, as there.
void append_message_usage(const ChatFacts& facts, const llm::Usage& usage, std::string& text);

// A content block. `begins`: as it is opened, without what it says.
void append_content_block(const ChatFacts& facts, const AnswerBlock& block, size_t index,
                          bool begins, std::string& text);

}  // namespace windrow::api
