// ResponsesStream: the events of OpenAI's /v1/responses. Pure.
//
//   response.created, response.in_progress
//   for each item: response.output_item.added
//     a message or thoughts: response.content_part.added, ....delta, ....done,
//                            response.content_part.done
//     a call:                response.function_call_arguments.delta, ....done
//   response.output_item.done
//   response.completed, response.incomplete or response.failed: the whole response
//
// sequence_number counts them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/block_stream.h"
#include "api/wire/chat_facts.h"

namespace windrow::api {

// Hears the whole response and the ids of its items before its last event is said; not of one that
// failed.
using KeepResponse = std::function<void(std::string_view body, std::vector<std::string> item_ids)>;

class ResponsesStream final : public BlockStream {
 public:
  explicit ResponsesStream(ChatFacts facts, KeepResponse keep = {});

  void keep_alive(std::string& events) override { events += ": waiting\n\n"; }

 private:
  void begin(std::string& events) override;
  void open(const AnswerBlock& block, size_t index, std::string& events) override;
  void more(const AnswerBlock& block, size_t index, std::string_view text,
            std::span<const llm::ScoredToken> tokens, std::string& events) override;
  void close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
             std::string& events) override;
  void finish(const AnswerEnding& ending, std::string& events) override;
  void failed(const llm::Failure& failure, std::string& events) override;
  bool needs_text() const override { return true; }

  // An event, up to its members; they are closed with end_event().
  void begin_event(std::string_view type, std::string& events);
  void begin_event_of(std::string_view type, const AnswerBlock& block, size_t index,
                      std::string& events);
  static void end_event(std::string& events) { events += "}\n\n"; }

  const ChatFacts facts_;
  const KeepResponse keep_;
  int64_t sequence_ = 0;
};

}  // namespace windrow::api
