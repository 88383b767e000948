// StreamText: the pieces of an answer -> server-sent events, in the shapes of the OpenAI API. Pure.
//
//   chat         chunks with a role at first, then deltas; finish_reason comes with an empty delta
//                calls of tools: a delta with id, type and name, then deltas with arguments
//   completions  chunks with text; finish_reason comes with an empty one
//   both         usage in a chunk without choices where it was asked for, then `[DONE]`
//
// What an answer has and no piece said is said at its end, so a backend that cannot speak as it
// goes, or an answer shared with an earlier request, is streamed all the same. Events of a server
// elsewhere are passed on as they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_stream.h"
#include "llm/answer.h"
#include "llm/logprobs_json.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::api {

struct StreamShape {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string id;  // without the prefix of the endpoint
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;        // empty: none
  std::string system_fingerprint;  // likewise

  bool usage = false;     // its chunk is wanted
  bool logprobs = false;  // chunks have those of their tokens
  // What is known of the form of the choices only when all are there goes with their ends: whether
  // they have it, and the warnings of schemas.
  bool structured = false;
};

class StreamText final : public AnswerStream {
 public:
  explicit StreamText(StreamShape shape);

  void say(const llm::Delta& piece, std::string& events) override;
  void end(const llm::Answer& answer, std::string& events) override;
  void fail(const llm::Failure& failure, std::string& events) override;
  void keep_alive(std::string& events) override { events += ": waiting\n\n"; }

 private:
  struct Said {
    bool begun = false;
    bool finished = false;
    size_t text_bytes = 0;
    size_t reasoning_bytes = 0;
    size_t tokens = 0;
    std::vector<size_t> arguments_bytes;             // of each call of a tool
    std::optional<llm::FinishReason> finish_reason;  // to be said at the end
    bool cut_character = false;                      // likewise
    std::optional<llm::TextOffsets> offsets;
  };

  bool is_chat() const { return shape_.endpoint == llm::Endpoint::kChatCompletions; }
  Said& said(int32_t choice);

  void say_raw(std::string_view raw, std::string& events);
  bool say_raw_answer(const std::string& raw, std::string& events);
  void begin_choice(int32_t choice, std::string& events) const;
  void finish_choice(int32_t choice, llm::FinishReason reason,
                     std::optional<llm::StructureLabel> label, std::string& events);
  void say_call(int32_t choice, const llm::ToolCallPiece& call, std::string& events);
  void append_call_delta(int32_t choice, std::string_view call, std::string& events) const;
  void append_delta(const llm::Delta& piece, std::string& events) const;
  void append_usage(const llm::Usage& usage, std::string& events) const;
  void append_end(std::string& events) const;

  const StreamShape shape_;
  std::string head_;  // of each chunk, up to its choices
  std::vector<Said> said_;
  std::vector<std::string> structure_warnings_;
  bool raw_said_ = false;
  bool usage_said_ = false;
};

}  // namespace windrow::api
