// CallDelivery: sends the answer of one call to its client. CallFlow decides what is sent and when
// the call is over; this carries it out on the connection, no faster than the client reads and the
// server has room for.
//
// On the loop's thread only. It may be destroyed within the callback `over`, if nothing else keeps
// it; callers hold a reference.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/calls/call_flow.h"
#include "api/calls/call_record.h"
#include "base/clock.h"
#include "http/server.h"
#include "llm/answer.h"
#include "llm/answer_room.h"
#include "llm/stream_sink.h"

namespace windrow::api {

class CallDelivery {
 public:
  // The call's part of what CallFlow decides.
  struct Callbacks {
    std::function<void()> cancel;  // the answer is not needed any more
    std::function<void()> over;    // once: the client is answered or gone and the request has ended
  };

  // `record` and `clock` outlive it; the delivery grows no share, but shrinks it as deltas are
  // sent.
  CallDelivery(http::Exchange exchange, CallFlow flow, CallRecord& record,
               std::shared_ptr<llm::AnswerShare> share, const Clock& clock, Callbacks callbacks)
      : exchange_(std::move(exchange)),
        flow_(std::move(flow)),
        record_(record),
        share_(std::move(share)),
        clock_(clock),
        callbacks_(std::move(callbacks)) {}

  // Begins to watch for the client's disconnect. `self` is this, for callbacks of the connection.
  void begin(std::weak_ptr<CallDelivery> self);

  void set_stream(std::unique_ptr<AnswerStream> stream) { flow_.set_stream(std::move(stream)); }
  void set_deadline(TimePoint deadline) { flow_.set_deadline(deadline); }
  bool is_stream() const { return flow_.is_stream(); }

  // Deltas of a stream, of which `bytes` are counted in the share. They wait while the client has
  // not taken what it was sent.
  void emit(std::vector<llm::Delta> deltas, size_t bytes, TimePoint now);

  // The request has ended. A reply that the server has no room for becomes a failure, which has
  // `usage`.
  void end(llm::Outcome outcome) { apply(flow_.end(std::move(outcome))); }
  void end(std::variant<http::ServerReply, llm::Failure> written, const llm::Usage& usage);

  // The server ends the call, though the request has not ended.
  void give_up(const llm::Failure& reason) { apply(flow_.give_up(reason)); }

  // Deadlines, comments in quiet streams, and streams that wait for the server's room.
  void tick(TimePoint now);

  int status() const { return flow_.status(); }
  const std::string& code() const { return flow_.code(); }

 private:
  void apply(CallSteps steps);
  bool reader_waits() const;
  void wait_for_reader();
  void drained();

  http::Exchange exchange_;
  CallFlow flow_;
  CallRecord& record_;
  const std::shared_ptr<llm::AnswerShare> share_;
  const Clock& clock_;
  const Callbacks callbacks_;
  std::weak_ptr<CallDelivery> self_;
  bool waits_for_reader_ = false;
  size_t pending_bytes_ = 0;  // of the share: deltas that the flow holds back
};

}  // namespace windrow::api
