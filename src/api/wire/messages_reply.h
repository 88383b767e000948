// Answers in the format of Anthropic's /v1/messages, whole and as a stream. Pure. The stream's
// events:
//
//   message_start
//   for each block: content_block_start, content_block_delta..., content_block_stop
//   message_delta: the stop reason and the usage; message_stop
//   or error, at any point; ping while nothing else is sent
//
// The usage is known only at the end, so that of message_start is all 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/wire/answer_blocks.h"
#include "api/wire/answer_stream.h"
#include "llm/answer.h"

namespace windrow::api {

// One line: {"id": "msg_...", "type": "message", "content": [...], ...}
std::string message_of(const ReplyFacts& facts, const llm::Answer& answer);

// {"type": "error", "error": {"type", "message", "details"}, "request_id"}. `status` is that of the
// reply. Details exist where clients act on them: for a refused `thread`. An empty request_id is
// left out: rows of batches have none.
std::string message_error(int status, const llm::Failure& failure, std::string_view request_id);

// {"input_tokens": 12}
std::string token_count_of(int64_t tokens);

// --- parts of answers, for streams ---

// The first event.
void append_message_start(const ReplyFacts& facts, std::string& text);

// The arguments of a tool call as a JSON object on one line. Text that is no object, as of a
// truncated call, becomes the member "unparsed_arguments".
void append_call_input(std::string_view arguments, std::string& text);

// The members "stop_reason" and "stop_sequence". `refused`: a block is a refusal.
void append_stop(const AnswerEnding& ending, bool refused, std::string& text);

// Tokens from the prefix cache are not counted as input tokens, as in Anthropic's API.
void append_message_usage(const ReplyFacts& facts, const llm::Usage& usage, std::string& text);

// A content block; with `begins` as it is opened, without content.
void append_content_block(const ReplyFacts& facts, const AnswerBlock& block, size_t index,
                          bool begins, std::string& text);

class MessagesStream final : public BlockStream {
 public:
  explicit MessagesStream(ReplyFacts facts);

  void keep_alive(std::string& events) override;

 private:
  void begin(std::string& events) override;
  void open(const AnswerBlock& block, size_t index, std::string& events) override;
  void more(const AnswerBlock& block, size_t index, std::string_view text,
            std::span<const llm::ScoredToken> tokens, std::string& events) override;
  void close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
             std::string& events) override;
  void finish(const AnswerEnding& ending, std::string& events) override;
  void failed(const llm::Failure& failure, std::string& events) override;
  bool needs_text() const override { return false; }

  const ReplyFacts facts_;
};

}  // namespace windrow::api
