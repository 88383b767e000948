// AnswerStream: the pieces of an answer -> server-sent events or lines, in the shape of one API.
// Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "llm/answer.h"
#include "llm/stream_sink.h"

namespace windrow::api {

// Each of these appends events. After end() or fail() nothing more may be said.
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  virtual void say(const llm::Delta& piece, std::string& events) = 0;

  // Says the rest of the answer, which no piece has said, and its end.
  virtual void end(const llm::Answer& answer, std::string& events) = 0;

  virtual void fail(const llm::Failure& failure, std::string& events) = 0;

  // Of the reply that it is.
  virtual std::string_view content_type() const { return "text/event-stream; charset=utf-8"; }

  // Something that readers skip, for proxies that give up on who is quiet.
  virtual void keep_alive(std::string& events) = 0;
};

}  // namespace windrow::api
