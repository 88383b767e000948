// Call: one request of a client, from its complete body to its answered end. A worker reads the
// body and offers the request to a dispatcher; what the backend returns is collected in an inbox,
// and the event loop takes it from there to CallDelivery, which sends it.
//
// Threads: the public methods run on the event loop, except on_delta(), which runs on a thread of
// the backend. Reading the body, and writing a long answer, run on the workers. Threads other than
// the loop put what happens into the inbox; the loop is posted once for all that is in it.
//
// Owned by ActiveCalls until it is over; besides by the worker that reads it, by the request in
// flight (its listener and its Done) and by tasks posted to the loop, as long as these exist. After
// its end it touches the loop only.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/calls/admission.h"
#include "api/calls/call_answer.h"
#include "api/calls/call_delivery.h"
#include "api/calls/call_reader.h"
#include "api/calls/call_record.h"
#include "api/calls/live_requests.h"
#include "api/calls/model_orders.h"
#include "api/keys/request_guard.h"
#include "api/pages/serve_metrics.h"
#include "api/storage/response_store.h"
#include "async/executor.h"
#include "async/ordered_executor.h"
#include "dispatch/dispatcher.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/answer_room.h"
#include "llm/stream_sink.h"

namespace windrow::api {

class Call;

// What calls need of the server. All of it outlives them.
struct CallServices {
  http::Loop& loop;
  async::Executor& workers;
  async::OrderedExecutor& lanes;  // on the workers: keeps the order of bodies of one lane
  const ModelRegistry& models;
  const CallRules& rules;
  const CallGate& gate;
  ServeMetrics& metrics;
  LiveRequests& live;
  BodyMemoryBudget& body_memory;
  ResponseStore& responses;
  std::shared_ptr<llm::AnswerRoom> answer_room;

  // On the loop's thread, once for each call: it is over, and nothing of it is used any more.
  std::function<void(Call&)> over;
};

// A call as it begins.
struct NewCall {
  http::Exchange exchange;
  RequestContext context;
  CallInput input;
  std::string id;  // without its prefix
};

class Call final : public llm::StreamSink, public std::enable_shared_from_this<Call> {
 public:
  Call(const CallServices& services, NewCall call);

  // --- on the loop's thread ---

  // Queues the body for a worker.
  void begin();

  // Answers with this failure and cancels the request.
  void give_up(const llm::Failure& reason) { delivery_.give_up(reason); }

  // A few times a second.
  void tick(TimePoint now);

  // The model, once the request is with a dispatcher; null before.
  const ServedModel* offered() const;

  // True if the request is queued, not in flight. Only once it is offered.
  bool is_waiting() const { return dispatcher_->is_waiting(*item_); }

  // Its position in the server's list.
  std::list<std::shared_ptr<Call>>::iterator position;

  // The bytes to release from BodyMemoryBudget when it is over.
  size_t body_bytes() const { return body_bytes_ + parsed_bytes_; }

  // --- on a thread of the backend ---

  void on_delta(llm::Delta delta) override;

 private:
  // A model that the client had loaded, and the reply once it is loaded.
  struct OrderedLoad {
    AwaitedLoad load;
    http::ServerReply reply;
  };

  // What the body asks for, for the loop.
  struct Understood {
    CallFacts facts;
    std::unique_ptr<AnswerStream> stream;  // null: the answer is sent as a whole
    std::optional<TimePoint> deadline;
  };

  // What other threads have for the loop.
  struct Inbox {
    std::optional<Understood> understood;
    std::vector<llm::Delta> deltas;
    size_t deltas_bytes = 0;     // counted in the answer's share
    bool no_room = false;        // a delta did not fit into the share: the stream cannot continue
    std::vector<Duration> gaps;  // between tokens
    std::optional<TimePoint> first_delta_at;
    std::optional<llm::Outcome> outcome;
    bool was_sent = false;                   // a backend was asked for this outcome
    std::optional<http::ServerReply> reply;  // written from an outcome
    std::optional<OrderedLoad> ordered_load;
    bool fetching = false;  // fetch() is posted to the loop
  };

  // On a worker:
  void read();
  void read_and_offer();
  std::optional<llm::Failure> admit_body();
  void count_tokens(CallPlan plan);
  void order_model(const CallPlan& plan);
  void offer(CallPlan plan);
  ReplyFacts reply_facts(const CallPlan& plan) const;

  // On a thread of the dispatcher or its backend:
  void done(dispatch::DispatchResult result);

  // On any thread:
  template <class Write>
  void put(Write write);
  void fail(llm::Failure failure);
  bool is_cancelled() const;

  // On the loop's thread:
  void fetch();
  void handle(Inbox inbox);
  void write_answer(llm::Outcome outcome);
  void poll_load(TimePoint now);
  void cancel();
  void close();

  const CallServices& services_;  // not after its end
  http::Loop& loop_;
  const std::string id_;
  const std::string request_id_;
  const TimePoint arrived_at_;
  const size_t body_bytes_;
  const std::shared_ptr<CallAnswer> answer_;
  CallRecord record_;

  // --- the loop's thread ---
  CallDelivery delivery_;
  std::optional<OrderedLoad> ordered_load_;  // the client waits for it
  llm::Usage answer_usage_;                  // of the answer, once it has arrived

  // --- written by the worker, then only read ---
  CallInput input_;
  size_t parsed_bytes_ = 0;
  const ServedModel* model_ = nullptr;
  bool unloads_after_ = false;  // the model is unloaded after this answer
  dispatch::Dispatcher* dispatcher_ = nullptr;

  // --- the thread that delivers deltas ---
  std::vector<TimePoint> last_delta_at_;  // of each choice
  bool is_out_of_room_ = false;           // a delta is missing, so none may follow

  // --- any thread ---
  mutable std::mutex mutex_;
  Inbox inbox_;
  std::optional<dispatch::ItemId> item_;  // once it is offered
  bool cancelled_ = false;
};

}  // namespace windrow::api
