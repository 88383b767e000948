// StreamText: turns the deltas of an answer into server-sent events in OpenAI's formats. Pure.
//
//   chat         the first chunk has a role, then deltas; finish_reason comes with an empty delta
//                a tool call: a delta with id, type and name, then deltas with arguments
//   completions  chunks with text; finish_reason comes with an empty one
//   both         usage in a chunk without choices, if it was asked for, then `[DONE]`
//
// What no delta had is sent at the end, so the answer of a backend that does not stream, or one
// shared with an earlier request, is streamed all the same. An upstream's events are passed on as
// they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_stream.h"
#include "llm/answer.h"
#include "llm/answer_json.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::api {

struct StreamShape {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string id;  // without its prefix
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;        // empty: none
  std::string system_fingerprint;  // empty: none

  bool usage = false;     // send the usage
  bool logprobs = false;  // chunks have the logprobs of their tokens
  // The answer has a structure. Whether the choices satisfy it is known only at the end, so their
  // finish reasons are sent then, with the label and the schema's warnings.
  bool structured = false;
};

class StreamText final : public AnswerStream {
 public:
  explicit StreamText(StreamShape shape);

  void emit(const llm::Delta& delta, std::string& events) override;
  void end(const llm::Answer& answer, std::string& events) override;
  void fail(const llm::Failure& failure, std::string& events) override;
  void keep_alive(std::string& events) override { events += ": waiting\n\n"; }

 private:
  struct Emitted {
    bool begun = false;
    bool finished = false;
    size_t text_bytes = 0;
    size_t reasoning_bytes = 0;
    size_t tokens = 0;
    size_t ids = 0;
    std::vector<size_t> arguments_bytes;             // of each tool call
    std::optional<llm::FinishReason> finish_reason;  // sent at the end
    bool cut_character = false;                      // sent at the end
    std::optional<int32_t> stopped_by_token;         // sent at the end
    std::optional<llm::TextOffsets> offsets;
  };

  bool is_chat() const { return shape_.endpoint == llm::Endpoint::kChatCompletions; }
  Emitted& emitted(int32_t choice);

  void emit_raw(std::string_view raw, std::string& events);
  bool emit_raw_answer(const std::string& raw, std::string& events);
  void begin_choice(const llm::Delta& delta, std::string& events) const;
  void finish_choice(int32_t choice, llm::FinishReason reason,
                     std::optional<llm::StructureLabel> label, std::string& events);
  void emit_call(int32_t choice, const llm::ToolCallPiece& call, std::string& events);
  void append_call_delta(int32_t choice, std::string_view call, std::string& events) const;
  void append_delta(const llm::Delta& delta, std::string& events) const;
  void append_usage(const llm::Usage& usage, std::string& events) const;
  void append_end(std::string& events) const;

  const StreamShape shape_;
  std::string head_;  // of each chunk, up to its choices
  std::vector<Emitted> emitted_;
  std::vector<std::string> structure_warnings_;
  bool raw_emitted_ = false;
  bool usage_emitted_ = false;
};

}  // namespace windrow::api
