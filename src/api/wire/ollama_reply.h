// Answers in the formats of Ollama's API, whole and as streams. Pure, except for the clock that
// measures how long they took.
//
//   /api/chat        {"model", "created_at", "message": {"role", "content", ...}, "done", ...}
//   /api/generate    {"model", "created_at", "response", "done", ...}
//   /api/embed       {"model", "embeddings", ...}
//   /api/embeddings  {"embedding"}
//
// Durations are in nanoseconds. For a local model they are the backend's; an upstream's whole time
// counts as the answer's.
//
// Streams are lines of JSON. Text comes as it is made, a tool call when it is complete; the last
// line has "done": true, the reason and the durations. A stream that fails ends with {"error":
// "..."}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/wire/answer_blocks.h"
#include "api/wire/answer_stream.h"
#include "api/wire/dialect.h"
#include "api/wire/translation.h"
#include "llm/answer.h"

namespace windrow::api {

// One line of JSON.
std::string ollama_reply(Dialect dialect, const ReplyFacts& facts, const llm::Answer& answer);

// The reply to a request that only loads or unloads a model.
std::string ollama_order_reply(Dialect dialect, std::string_view model, int64_t created_unix_s,
                               ModelAction action);

// {"error": "..."}
std::string ollama_error(const llm::Failure& failure);

// "2026-11-23T06:31:35Z"
std::string utc_stamp(int64_t unix_s);

// --- parts of answers, for streams ---

// An object up to the content of `blocks`: one block of a stream, or all of an answer, after
// `calls_before` tool calls. The caller closes it with "}" or append_ollama_end().
void append_ollama_says(Dialect dialect, const ReplyFacts& facts,
                        std::span<const AnswerBlock> blocks, size_t calls_before,
                        std::string& text);

// ,"done": true, the reason and the durations; closes the object.
void append_ollama_end(const ReplyFacts& facts, const AnswerEnding& ending, std::string& text);

class OllamaStream final : public BlockStream {
 public:
  OllamaStream(Dialect dialect, ReplyFacts facts);

  // A line without content, because JSON lines have no comments.
  void keep_alive(std::string& lines) override { emit_blocks({}, lines); }
  std::string_view content_type() const override { return "application/x-ndjson"; }

 private:
  void begin(std::string&) override {}
  void open(const AnswerBlock&, size_t, std::string&) override {}
  void more(const AnswerBlock& block, size_t index, std::string_view text,
            std::span<const llm::ScoredToken> tokens, std::string& lines) override;
  void close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
             std::string& lines) override;
  void finish(const AnswerEnding& ending, std::string& lines) override;
  void failed(const llm::Failure& failure, std::string& lines) override;
  bool needs_text() const override { return false; }

  void emit_blocks(std::span<const AnswerBlock> blocks, std::string& lines);

  const Dialect dialect_;
  const ReplyFacts facts_;
  size_t calls_emitted_ = 0;
};

}  // namespace windrow::api
