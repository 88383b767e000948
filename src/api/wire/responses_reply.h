// Answers in the format of OpenAI's /v1/responses, whole and as a stream. Pure. The stream's
// events:
//
//   response.created, response.in_progress
//   for each item: response.output_item.added
//     a message or reasoning: response.content_part.added, ....delta, ....done,
//                             response.content_part.done
//     a tool call:            response.function_call_arguments.delta, ....done
//   response.output_item.done
//   response.completed, response.incomplete or response.failed: the whole response
//
// sequence_number counts them.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_blocks.h"
#include "api/wire/answer_stream.h"
#include "llm/answer.h"

namespace windrow::api {

// Makes ReplyFacts::echo. `chat` is the translated body with its defaults; an upstream's (`raw`)
// defaults are unknown.
std::string responses_echo(const boost::json::object& echo, const boost::json::object& chat,
                           bool raw);

// One line: {"id": "resp_...", "object": "response", "output": [...], ...}
std::string response_of(const ReplyFacts& facts, const llm::Answer& answer);

// The ids of the output items of a response.
std::vector<std::string> output_ids(std::string_view answer_id, const llm::Answer& answer);

// --- parts of answers, for streams ---

enum class ResponseStatus : uint8_t { kInProgress, kCompleted, kIncomplete, kFailed };

// The response at some moment. `ending` null: it is in progress, or has failed with `failure`.
void append_response(const ReplyFacts& facts, ResponseStatus status,
                     std::span<const AnswerBlock> blocks, const AnswerEnding* ending,
                     const llm::Failure* failure, std::string& text);

// An element of `output`. The last one of a truncated answer is incomplete.
struct ItemState {
  const AnswerEnding* ending = nullptr;  // for the last element
  bool in_progress = false;
  bool cut = false;  // ended before it was complete
};
void append_item(const ReplyFacts& facts, const AnswerBlock& block, size_t index, ItemState state,
                 std::string& text);

// An element of a message's or of a reasoning item's `content`.
void append_part(const ReplyFacts& facts, const AnswerBlock& block, std::string& text);

// `answer_id` is ReplyFacts::id.
std::string item_id(std::string_view answer_id, const AnswerBlock& block, size_t index);
std::vector<std::string> item_ids(std::string_view answer_id, std::span<const AnswerBlock> blocks);

ResponseStatus status_of(const AnswerEnding& ending);

// Gets the whole response and the ids of its items before the last event is written; not called for
// a response that failed.
using KeepResponse = std::function<void(std::string_view body, std::vector<std::string> item_ids)>;

class ResponsesStream final : public BlockStream {
 public:
  explicit ResponsesStream(ReplyFacts facts, KeepResponse keep = {});

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

  const ReplyFacts facts_;
  const KeepResponse keep_;
  int64_t sequence_ = 0;
};

}  // namespace windrow::api
