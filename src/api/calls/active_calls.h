// ActiveCalls: the calls of models that are in progress. It accepts them, if there is memory for
// their bodies, polls their deadlines a few times a second, and ends those that can no longer be
// answered. Pages that take long to make run on the same workers.
//
// Methods run on the event loop unless they say otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/calls/admission.h"
#include "api/calls/call.h"
#include "api/calls/call_reader.h"
#include "api/calls/live_requests.h"
#include "api/calls/model_registry.h"
#include "api/keys/request_guard.h"
#include "api/pages/serve_metrics.h"
#include "api/storage/response_store.h"
#include "api/wire/dialect.h"
#include "async/executor.h"
#include "async/in_flight_counter.h"
#include "async/ordered_executor.h"
#include "base/clock.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/answer_room.h"

namespace windrow::api {

// Ids of calls that cannot be guessed from earlier ones, and random numbers for requests without a
// seed. Any thread.
class CallIds {
 public:
  CallIds();

  // 32 hexadecimal digits; never the same twice.
  std::string next();

  uint64_t chance();

 private:
  const std::string secret_;
  std::atomic<uint64_t> count_ = 0;
};

// A way to ask a model.
struct CallRoute {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  bool may_be_tei = false;
  bool unit_scores = false;
  bool counts_only = false;
};

// What the calls share with the rest of the server. All of it outlives them.
struct ActiveCallsServices {
  http::Loop& loop;
  const Clock& clock;
  const ModelRegistry& models;
  ServeMetrics& metrics;
  LiveRequests& live;
  BodyMemoryBudget& body_memory;
  CallGate& gate;
  ResponseStore& responses;
  async::InFlightCounter& in_flight;
  std::shared_ptr<llm::AnswerRoom> answer_room;
};

class ActiveCalls {
 public:
  ActiveCalls(const ActiveCallsServices& services, CallRules rules, int32_t worker_threads);

  // Begins to poll the calls. Once.
  void watch();

  // Begins a call, or answers why it is not accepted: 503 (CallGate), 429 (BodyMemoryBudget).
  void take(const CallRoute& route, RequestContext context, const http::ServerRequest& request,
            http::Exchange exchange);

  // How many pages may be queued or made at a time. Each may take as much memory as a long
  // conversation, and stays queued when its client leaves.
  static constexpr int32_t kPagesMax = 32;

  // A page that takes longer to make than the loop has time; 429 above kPagesMax. `make` runs on a
  // worker, unless the client has left by then; stopping the server waits for it.
  using PageAnswer = std::variant<http::ServerReply, llm::Failure>;
  void show_later(RequestContext context, http::Exchange exchange,
                  std::function<PageAnswer()> make);

  // The same for a page that is made of the request's body: it may be compressed, and it counts
  // against the memory of bodies as that of a call does. 503 while models load.
  void show_of_body(RequestContext context, const http::ServerRequest& request,
                    http::Exchange exchange, std::function<PageAnswer(std::string_view body)> make);

  // Answers all calls with this failure and cancels their requests.
  void give_up_all(const llm::Failure& why);

  // Once nothing is in flight any more. Blocks; any thread but the loop's and the workers'.
  void stop_workers() { workers_.stop(); }

 private:
  void tick();
  void give_up_unreachable();
  void over(Call& call);

  const ActiveCallsServices services_;
  const CallRules rules_;
  CallIds ids_;
  async::Executor workers_;
  async::OrderedExecutor lanes_;
  http::Timer tick_;
  const CallServices call_services_;
  std::list<std::shared_ptr<Call>> calls_;
  std::atomic<int32_t> pages_ = 0;  // queued or being made; any thread
};

}  // namespace windrow::api
