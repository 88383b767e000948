// An answer in the shapes of Ollama's API. Pure, but for the clock that says how long it took.
//
//   /api/chat        {"model", "created_at", "message": {"role", "content", ...}, "done", ...}
//   /api/generate    {"model", "created_at", "response", "done", ...}
//   /api/embed       {"model", "embeddings", ...}
//   /api/embeddings  {"embedding"}
//
// Durations are in nanoseconds. Of a model here they are the backend's; of one elsewhere all of it
// is said to be the answer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/wire/answer_blocks.h"
#include "api/wire/chat_facts.h"
#include "api/wire/dialect.h"
#include "api/wire/translation.h"
#include "llm/answer.h"

namespace windrow::api {

// One line of JSON.
std::string ollama_reply(Dialect dialect, const ChatFacts& facts, const llm::Answer& answer);

// To a request that wants a model loaded or unloaded instead of an answer.
std::string ollama_order_reply(Dialect dialect, std::string_view model, int64_t created_unix_s,
                               ModelWish wish);

// {"error": "..."}
std::string ollama_error(const llm::Failure& failure);

// "2026-11-23T06:31:35Z"
std::string utc_stamp(int64_t unix_s);

// --- parts of it, for streams ---

// An object as far as what it says, which `blocks` have: one block of a stream, or all of an
// answer, with so many calls before them. To be closed with "}", or with the end of an answer.
void append_ollama_says(Dialect dialect, const ChatFacts& facts,
                        std::span<const AnswerBlock> blocks, size_t calls_before,
                        std::string& text);

// ,"done": true, why, and what it took; closes the object.
void append_ollama_end(const ChatFacts& facts, const AnswerEnding& ending, std::string& text);

}  // namespace windrow::api
