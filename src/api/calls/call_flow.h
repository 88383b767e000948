// CallFlow: what is to be done for the client of one call, and when the call is over. Pure: what
// happens goes in, steps come out; Call does them.
//
// Invariants, whatever happens in whatever order:
// * The client gets one answer: a reply, or a stream that begins once and finishes once; or none
//   when it has left.
// * An answer that has begun as a stream fails with an event; before, with a status.
// * The request is cancelled at most once, and only while its end has not been told.
// * The call is over when both sides are: the client answered or gone, the request ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/wire/answer_stream.h"
#include "api/wire/dialect.h"
#include "base/clock.h"
#include "http/server.h"
#include "llm/answer.h"
#include "llm/stream_sink.h"

namespace windrow::api {

// In this order.
struct CallSteps {
  bool cancel = false;                     // the request: nobody waits for it any more
  std::optional<http::ServerReply> reply;  // the whole answer
  bool start = false;                      // the head of a stream
  std::string bytes;                       // of the stream
  bool finish = false;                     // the stream
  bool over = false;                       // once
};

class CallFlow {
 public:
  // In whose words an error is said, and the id of the request that it names.
  explicit CallFlow(TimePoint arrived_at, Dialect dialect = Dialect::kOwn,
                    std::string request_id = "")
      : dialect_(dialect), request_id_(std::move(request_id)), quiet_since_(arrived_at) {}

  // --- what happens ---

  // The body is understood: the answer is to be a stream, and of use until then.
  void set_stream(std::unique_ptr<AnswerStream> stream) { stream_ = std::move(stream); }
  void set_deadline(TimePoint deadline) { deadline_ = deadline; }

  // Of a stream; `unsent`: the client has not taken what it was sent.
  CallSteps say(std::vector<llm::Delta> pieces, bool unsent, TimePoint now);
  CallSteps drained(TimePoint now);

  // The request has ended, or never began. An answer that is no stream comes as the reply that was
  // made of it.
  CallSteps end(http::ServerReply reply);
  CallSteps end(llm::Outcome outcome);

  CallSteps leave();                              // the client
  CallSteps give_up(const llm::Failure& reason);  // the server
  CallSteps tick(TimePoint now);                  // now and then

  // --- what is known ---

  bool is_stream() const { return stream_ != nullptr; }
  std::string_view content_type() const { return stream_->content_type(); }  // of a stream

  // Something waits for drained().
  bool holds_back() const { return !pending_.empty(); }

  // Of the answer; 499 when the client left before it was complete.
  int status() const { return status_; }
  const std::string& code() const { return code_; }  // of the error; empty: none

 private:
  enum class Client : uint8_t { kWaits, kReads, kAnswered, kGone };

  bool listens() const { return client_ == Client::kWaits || client_ == Client::kReads; }
  void start(CallSteps& steps);
  void add_pending(llm::Delta piece);
  void say_pending(CallSteps& steps);
  void answer(http::ServerReply reply, CallSteps& steps);
  void fail(const llm::Failure& failure, CallSteps& steps);
  CallSteps ended(CallSteps steps);

  const Dialect dialect_;
  const std::string request_id_;
  Client client_ = Client::kWaits;
  bool ended_ = false;
  int status_ = 0;
  std::string code_;

  std::unique_ptr<AnswerStream> stream_;
  std::vector<llm::Delta> pending_;  // for a client that is slow to read
  TimePoint quiet_since_;
  std::optional<TimePoint> deadline_;
};

}  // namespace windrow::api
