// TurnFormat: the API in whose format a turn is asked for and answered: chat completions, or
// Anthropic's Messages, which are translated to and from them (wire/translation.h). Pure. A format
// belongs to one turn: methods are called by one thread at a time, translate() first.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "api/wire/answer_stream.h"
#include "api/wire/translation.h"
#include "http/server.h"
#include "llm/answer.h"
#include "session/service/session_service.h"

namespace windrow::api {

class TurnFormat {
 public:
  virtual ~TurnFormat() = default;

  // The body as a chat completion's, or why it is none.
  virtual std::variant<std::string, llm::Failure> translate(std::string body) = 0;

  // A stream of an answer that is made meanwhile.
  virtual std::unique_ptr<AnswerStream> stream(const session::StreamBegin& begin) const = 0;

  // The whole answer, as one body or, where it is asked for, as events.
  virtual http::ServerReply reply(session::TurnResult result) const = 0;

  virtual http::ServerReply error(const llm::Failure& failure) const = 0;
  virtual http::ServerReply passed(session::PassedReply reply) const = 0;
};

class ChatTurnFormat final : public TurnFormat {
 public:
  std::variant<std::string, llm::Failure> translate(std::string body) override { return body; }
  std::unique_ptr<AnswerStream> stream(const session::StreamBegin& begin) const override;
  http::ServerReply reply(session::TurnResult result) const override;
  http::ServerReply error(const llm::Failure& failure) const override;
  http::ServerReply passed(session::PassedReply reply) const override;
};

class MessagesTurnFormat final : public TurnFormat {
 public:
  explicit MessagesTurnFormat(std::string request_id) : request_id_(std::move(request_id)) {}

  std::variant<std::string, llm::Failure> translate(std::string body) override;
  std::unique_ptr<AnswerStream> stream(const session::StreamBegin& begin) const override;
  http::ServerReply reply(session::TurnResult result) const override;
  http::ServerReply error(const llm::Failure& failure) const override;
  http::ServerReply passed(session::PassedReply reply) const override;

 private:
  const std::string request_id_;
  Origins origins_;
};

// Two events: the whole chat completion as one chunk, then "[DONE]", as trainers' reference server
// writes them where its model cannot stream. A failure: the body is no chat completion.
std::variant<std::string, llm::Failure> as_two_events(std::string_view body);

// The headers of every stream of events.
http::Headers event_headers(std::string_view content_type);

}  // namespace windrow::api
