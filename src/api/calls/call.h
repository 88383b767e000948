// Call: one request of a client that is inside, from its complete body to its answered end. It does
// what CallFlow decides.
//
// Owned by the server's list until it is over; by the worker that reads it, by the request that is
// out (as its listener and in its Done), and by what it posts to the loop, for as long as these
// are there; after its end it touches the loop only. The flow and the exchange belong to the loop's
// thread. Other threads put what happens into the inbox and have the loop fetch it, once for all
// that is in it.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/awaited_load.h"
#include "api/calls/call_flow.h"
#include "api/calls/call_reader.h"
#include "api/calls/live_requests.h"
#include "api/keys/request_guard.h"
#include "api/pages/serve_metrics.h"
#include "api/storage/response_store.h"
#include "api/wire/call_reply.h"
#include "async/executor.h"
#include "async/ordered_executor.h"
#include "dispatch/dispatcher.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/answer_room.h"
#include "llm/stream_sink.h"

namespace windrow::api {

class Call;

// What calls need of the server, which outlives them.
class CallHost {
 public:
  virtual ~CallHost() = default;

  virtual http::Loop& loop() = 0;
  virtual async::Executor& workers() = 0;
  virtual async::OrderedExecutor& lane_reads() = 0;
  virtual const ModelRegistry& catalogue() const = 0;
  virtual const CallRules& rules() const = 0;
  virtual ServeMetrics& metrics() = 0;
  virtual LiveRequests& live() = 0;
  virtual ResponseStore& responses() = 0;
  virtual const std::shared_ptr<llm::AnswerRoom>& answer_room() = 0;

  // Any thread: a body becomes so many bytes more. False: there is no room for them.
  virtual bool grow(size_t bytes) = 0;

  // Why this model cannot be asked at the moment. Any thread.
  virtual std::optional<llm::Failure> refusal_of(const ServedModel& model) const = 0;

  // On the loop's thread, once: it is over, and nothing of it comes any more.
  virtual void over(Call& call) = 0;
};

// A call as it begins.
struct CallBirth {
  http::Exchange exchange;
  RequestContext admitted;
  CallInput input;
  std::string id;  // without its prefix
};

class Call final : public llm::StreamSink, public std::enable_shared_from_this<Call> {
 public:
  Call(CallHost& host, CallBirth birth);

  // --- on the loop's thread ---

  // The body waits for a worker.
  void begin();

  // The server gives up on it.
  void give_up(const llm::Failure& reason) { carry_out(flow_.give_up(reason)); }
  void tick(TimePoint now);

  // What it asks, once it is with a dispatcher; nullptr before.
  const ServedModel* offered() const;

  // With a dispatcher, and nobody is answering it. Only where it is offered.
  bool is_waiting() const { return dispatcher_->is_waiting(*item_); }

  // Where the server keeps it.
  std::list<std::shared_ptr<Call>>::iterator place;

  // What of BodyMemoryBudget is to be given back when it is over.
  size_t bytes() const { return body_bytes_ + parsed_bytes_; }

  // --- on a thread of the backend's ---

  void on_delta(llm::Delta piece) override;

 private:
  // Of its body.
  struct Understood {
    std::string model;
    dispatch::Priority priority = dispatch::Priority::kNormal;
    std::unique_ptr<AnswerStream> stream;  // null: the answer comes whole
    std::optional<TimePoint> deadline;
    bool raw = false;  // it goes elsewhere
    int32_t ignored_tokens = 0;
    std::string ignored_fields;  // as the header lists them; empty: none
  };

  // A model that its client had loaded, and what is answered when it is there.
  struct OrderedLoad {
    AwaitedLoad load;
    http::ServerReply reply;
  };

  // What other threads have to say.
  struct Inbox {
    std::optional<Understood> understood;
    std::vector<llm::Delta> pieces;
    size_t pieces_bytes = 0;     // of the answer's share
    bool no_room = false;        // for a piece: the answer cannot go on
    std::vector<Duration> gaps;  // between tokens
    std::optional<TimePoint> first_piece_at;
    std::optional<llm::Outcome> outcome;
    bool was_sent = false;                   // the outcome is that of something that was sent
    std::optional<http::ServerReply> reply;  // made of an outcome
    std::optional<OrderedLoad> ordered_load;
    bool fetching = false;  // the loop has been told
  };

  void read();  // on a worker
  std::optional<llm::Failure> unpack_body();
  std::optional<llm::Failure> admit_body();
  void read_and_offer();
  void offer(CallPlan plan);
  void count_tokens(const CallPlan& plan);
  void order_model(const CallPlan& plan);
  void look_at_load(TimePoint now);
  void done(dispatch::DispatchResult result);
  llm::Outcome bounded(llm::Outcome outcome);
  template <class Write>
  void put(Write write);
  void fetch();
  void fetch_news(bool& ends);
  void say(std::vector<llm::Delta> pieces, size_t pieces_bytes, TimePoint now);
  bool reader_waits() const;
  void end_written(std::variant<http::ServerReply, llm::Failure> written, const llm::Usage& usage);
  void note(Understood understood);
  void note(const llm::Outcome& outcome);
  void note(const std::vector<llm::Delta>& pieces);
  std::variant<http::ServerReply, llm::Failure> written(const llm::Answer& answer);
  void keep_response(std::string_view body, std::vector<std::string> item_ids);
  void carry_out(CallSteps steps);
  void wait_for_reader();
  void add_headers(http::Headers& headers);
  void settle();
  void cancel();

  CallHost& host_;
  http::Loop& loop_;
  const std::string id_;
  const std::string request_id_;
  const TimePoint arrived_at_;
  const size_t body_bytes_;

  // --- the loop's thread ---
  http::Exchange exchange_;
  CallFlow flow_;
  std::optional<OrderedLoad> ordered_load_;  // its client waits for it
  bool waits_for_reader_ = false;
  size_t pending_bytes_ = 0;  // of the share: pieces that the flow holds back
  llm::Usage answer_usage_;   // of the answer, once it is there
  int32_t pieces_said_ = 0;
  bool raw_ = false;
  bool was_sent_ = false;
  int32_t ignored_tokens_ = 0;
  std::string ignored_fields_;

  // --- the worker's, then nobody's but to read ---
  CallInput input_;
  size_t parsed_bytes_ = 0;
  ReplyFacts facts_;
  Origins origins_;
  std::optional<StoredResponse> kept_;  // who writes the answer completes it and gives it away
  const ServedModel* model_ = nullptr;
  bool unloads_after_ = false;  // its model is to leave when it is answered
  dispatch::Dispatcher* dispatcher_ = nullptr;
  const std::shared_ptr<llm::AnswerShare> share_;  // what its answer takes of AnswerRoom

  // --- the thread that brings pieces ---
  std::vector<TimePoint> said_at_;  // of each choice
  bool has_no_room_ = false;        // a piece is missing, so none may come after it

  // --- any thread ---
  mutable std::mutex mutex_;
  Inbox inbox_;
  std::optional<RequestContext> admitted_;        // until it is over
  std::unique_ptr<LiveRequests::Ticket> ticket_;  // once it is with the dispatcher
  std::optional<dispatch::ItemId> item_;
  bool unwanted_ = false;
};

}  // namespace windrow::api
