// MessagesStream: the events of Anthropic's /v1/messages. Pure.
//
//   message_start
//   for each block: content_block_start, content_block_delta..., content_block_stop
//   message_delta: why it ended, and the usage; message_stop
//   or error, anywhere; ping, where nothing is said for a while
//
// How many tokens the prompt has is told at the end: the usage of message_start is all 0.
#pragma once

#include "api/wire/block_stream.h"
#include "api/wire/chat_facts.h"

namespace windrow::api {

class MessagesStream final : public BlockStream {
 public:
  explicit MessagesStream(ChatFacts facts);

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

  const ChatFacts facts_;
};

}  // namespace windrow::api
