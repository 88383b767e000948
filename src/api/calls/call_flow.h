// CallFlow: what is sent to the client of one call, and when the call is over. Pure: events go in,
// steps come out, which CallDelivery carries out.
//
// Invariants, for events in any order:
// * The client gets one answer: a reply, or a stream that starts once and finishes once; or none if
//   it has left.
// * An answer that has started as a stream fails with an event, before that with a status.
// * The request is cancelled at most once, and only before its end.
// * The call is over when the client is answered or gone and the request has ended.
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

// Carried out in this order.
struct CallSteps {
  bool cancel = false;                     // cancel the request: its answer is not needed
  std::optional<http::ServerReply> reply;  // send this as the whole answer
  bool start = false;                      // send the head of a stream
  std::string bytes;                       // send these bytes of the stream
  bool finish = false;                     // finish the stream
  bool over = false;                       // the call is over; at most once
};

class CallFlow {
 public:
  // `dialect` and `request_id` are for errors.
  explicit CallFlow(TimePoint arrived_at, Dialect dialect = Dialect::kOwn,
                    std::string request_id = "")
      : dialect_(dialect), request_id_(std::move(request_id)), quiet_since_(arrived_at) {}

  // --- events ---

  // The body asks for a stream, or gives a deadline.
  void set_stream(std::unique_ptr<AnswerStream> stream) { stream_ = std::move(stream); }
  void set_deadline(TimePoint deadline) { deadline_ = deadline; }

  // Deltas of a stream. `unsent`: the client has not taken what it was sent, so they are held back.
  CallSteps emit(std::vector<llm::Delta> deltas, bool unsent, TimePoint now);

  // The client has taken everything that was sent.
  CallSteps drained(TimePoint now);

  // The request has ended, or was never offered. An answer that is not streamed is given as the
  // reply that was written of it.
  CallSteps end(http::ServerReply reply);
  CallSteps end(llm::Outcome outcome);

  CallSteps leave();                              // the client has disconnected
  CallSteps give_up(const llm::Failure& reason);  // the server ends the call
  CallSteps tick(TimePoint now);                  // a few times a second

  // --- state ---

  bool is_stream() const { return stream_ != nullptr; }
  std::string_view content_type() const { return stream_->content_type(); }  // is_stream()

  // Deltas wait for drained().
  bool holds_back() const { return !pending_.empty(); }

  // The status of the answer; 499 if the client left before it was complete.
  int status() const { return status_; }
  const std::string& code() const { return code_; }  // the error's; empty: none

 private:
  enum class Client : uint8_t { kWaits, kReads, kAnswered, kGone };

  bool listens() const { return client_ == Client::kWaits || client_ == Client::kReads; }
  void start(CallSteps& steps);
  void emit_pending(CallSteps& steps);
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
  std::vector<llm::Delta> pending_;  // held back while the client reads; merged by llm::append
  TimePoint quiet_since_;
  std::optional<TimePoint> deadline_;
};

}  // namespace windrow::api
