// CallAnswer: makes the reply or the stream of one call from what its backend returns. It holds the
// call's share of the memory for answers (llm::AnswerShare), and stores responses that are to be
// kept.
//
// prepare() is called on the worker that reads the body, before the request is offered; the other
// methods afterwards, by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/storage/response_store.h"
#include "api/wire/answer_stream.h"
#include "api/wire/call_reply.h"
#include "api/wire/translation.h"
#include "http/server.h"
#include "llm/answer.h"
#include "llm/answer_room.h"

namespace windrow::api {

class CallAnswer : public std::enable_shared_from_this<CallAnswer> {
 public:
  // `responses` outlives it. `key` is the name of the call's API key.
  CallAnswer(ResponseStore& responses, std::string key,
             const std::shared_ptr<llm::AnswerRoom>& room)
      : responses_(responses),
        key_(std::move(key)),
        share_(std::make_shared<llm::AnswerShare>(room)) {}

  // Takes Origins and the response to keep out of `plan`.
  void prepare(ReplyFacts facts, CallPlan& plan);

  // The stream of a call that asked for one. It keeps this alive.
  std::unique_ptr<AnswerStream> make_stream(const CallPlan& plan);

  // The outcome as the dialect's writers want it: an upstream's reply is read, and a failure is put
  // in the words of the body that was sent. A failure, 503, if there is no memory for the answer.
  llm::Outcome accept(llm::Outcome outcome);

  // The whole answer as a reply, or why it could not be written. Never throws.
  std::variant<http::ServerReply, llm::Failure> write(const llm::Answer& answer);

  // Any thread.
  const std::shared_ptr<llm::AnswerShare>& share() const { return share_; }

 private:
  void keep_response(std::string_view body, std::vector<std::string> item_ids);

  ResponseStore& responses_;
  const std::string key_;
  const std::shared_ptr<llm::AnswerShare> share_;
  ReplyFacts facts_;
  Origins origins_;
  std::optional<StoredResponse> kept_;  // complete but for the answer; nullopt: it is not kept
};

}  // namespace windrow::api
