// Call: one request of a client that is inside, from its complete body to its answered end. It does
// what CallFlow decides.
//
// Owned by the server's list until it is over; by the worker that reads it, by the request that is
// out (as its listener and in its Done), and by what it posts to the loop, for as long as these
// are there. The flow and the exchange belong to the loop's thread. Other threads put what happens
// into the inbox and have the loop fetch it, once for all that is in it.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/call_flow.h"
#include "api/call_reader.h"
#include "api/call_reply.h"
#include "api/call_workers.h"
#include "dispatch/dispatcher.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/listener.h"

namespace windrow::api {

class Call;

// What calls need of the server, which outlives them.
class CallHost {
 public:
  virtual ~CallHost() = default;

  virtual http::Loop& loop() = 0;
  virtual CallWorkers& workers() = 0;
  virtual const Catalogue& catalogue() const = 0;
  virtual const CallRules& rules() const = 0;

  // On the loop's thread, once: it is over, and nothing of it comes any more.
  virtual void over(Call& call) = 0;
};

class Call final : public llm::Listener, public std::enable_shared_from_this<Call> {
 public:
  Call(CallHost& host, http::Exchange exchange, CallInput input, std::string id);

  // --- on the loop's thread ---

  // The body waits for a worker.
  void begin();

  // The server gives up on it.
  void give_up(const llm::Failure& reason) { carry_out(flow_.give_up(reason)); }
  void tick(TimePoint now) { carry_out(flow_.tick(now)); }

  // Where the server keeps it.
  std::list<std::shared_ptr<Call>>::iterator place;

  size_t body_bytes() const { return body_bytes_; }

  // --- on a thread of the backend's ---

  void on_piece(llm::Piece piece) override;

 private:
  // What other threads have to say.
  struct Inbox {
    std::optional<StreamShape> stream;
    std::optional<TimePoint> deadline;
    std::vector<llm::Piece> pieces;
    std::optional<llm::Outcome> outcome;
    std::optional<http::ServerReply> reply;  // made of an outcome
    bool fetching = false;                   // the loop has been told
  };

  void read();  // on a worker
  void offer(CallPlan plan);
  void done(dispatch::DispatchResult result);
  template <class Write>
  void put(Write write);
  void fetch();
  void carry_out(CallSteps steps);
  void cancel();

  CallHost& host_;
  const std::string id_;
  const TimePoint arrived_at_;
  const size_t body_bytes_;

  // --- the loop's thread ---
  http::Exchange exchange_;
  CallFlow flow_;

  // --- the worker's, then nobody's but to read ---
  CallInput input_;
  ReplyFacts facts_;
  dispatch::Dispatcher* dispatcher_ = nullptr;

  // --- any thread ---
  std::mutex mutex_;
  Inbox inbox_;
  std::optional<dispatch::ItemId> item_;
  bool unwanted_ = false;
};

}  // namespace windrow::api
