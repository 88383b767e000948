// An answer in the shape of OpenAI's /v1/responses. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_blocks.h"
#include "api/wire/chat_facts.h"
#include "llm/answer.h"

namespace windrow::api {

// ChatFacts::echo. `chat` is the translated body as it will be answered; of a model elsewhere
// (`raw`) it is not known what counts for what it does not say.
std::string responses_echo(const boost::json::object& echo, const boost::json::object& chat,
                           bool raw);

// One line: {"id": "resp_...", "object": "response", "output": [...], ...}
std::string response_of(const ChatFacts& facts, const llm::Answer& answer);

// The ids of the items of a response's output.
std::vector<std::string> output_ids(std::string_view answer_id, const llm::Answer& answer);

// --- parts of it, for streams ---

enum class ResponseStatus : uint8_t { kInProgress, kCompleted, kIncomplete, kFailed };

// What is told of a response at some moment. `ending` null: it goes on, or has failed with
// `failure`.
void append_response(const ChatFacts& facts, ResponseStatus status,
                     std::span<const AnswerBlock> blocks, const AnswerEnding* ending,
                     const llm::Failure* failure, std::string& text);

// An element of `output`. The last one of an answer that was cut is incomplete.
struct ItemState {
  const AnswerEnding* ending = nullptr;  // of the last one
  bool in_progress = false;
  bool cut = false;  // nothing more comes of it, and it is not whole
};
void append_item(const ChatFacts& facts, const AnswerBlock& block, size_t index, ItemState state,
                 std::string& text);

// An element of a message's or of a reasoning item's `content`.
void append_part(const ChatFacts& facts, const AnswerBlock& block, std::string& text);

// `answer_id` is ChatFacts::id.
std::string item_id(std::string_view answer_id, const AnswerBlock& block, size_t index);
std::vector<std::string> item_ids(std::string_view answer_id, std::span<const AnswerBlock> blocks);

ResponseStatus status_of(const AnswerEnding& ending);

}  // namespace windrow::api
