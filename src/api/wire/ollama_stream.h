// OllamaStream: the lines of /api/chat and /api/generate, one JSON object each. Pure.
//
// Texts come as they are made, a call of a tool when it is whole; the last line has "done": true,
// why it ended and what it took. A stream that fails ends with {"error": "..."}.
#pragma once

#include "api/wire/block_stream.h"
#include "api/wire/chat_facts.h"
#include "api/wire/dialect.h"

namespace windrow::api {

class OllamaStream final : public BlockStream {
 public:
  OllamaStream(Dialect dialect, ChatFacts facts);

  // A line that says nothing more: there are no comments.
  void keep_alive(std::string& lines) override { say_blocks({}, lines); }
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

  void say_blocks(std::span<const AnswerBlock> blocks, std::string& lines);

  const Dialect dialect_;
  const ChatFacts facts_;
  size_t calls_said_ = 0;
};

}  // namespace windrow::api
