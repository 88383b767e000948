// ActiveCalls: the calls of models that are inside the server. It takes them, as far as there is
// room for their bodies, counts them, looks after their deadlines, and ends those that nobody will
// answer any more. Pages that take long to make are inside with them, on the same workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "api/calls/body_memory_budget.h"
#include "api/calls/call.h"
#include "api/calls/call_gate.h"
#include "api/calls/call_ids.h"
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

// A way to ask a model.
struct CallRoute {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  bool may_be_tei = false;
  bool unit_scores = false;
  bool counts_only = false;
};

// What calls share with the rest of the server. All of it outlives them.
struct CallSurroundings {
  http::Loop& loop;
  const Clock& clock;
  const ModelRegistry& catalogue;
  ServeMetrics& metrics;
  LiveRequests& live;
  BodyMemoryBudget& admission;
  CallGate& gate;
  ResponseStore& responses;
  async::InFlightCounter& inside;
  std::shared_ptr<llm::AnswerRoom> answer_room;
};

// Only the loop's thread touches it, where nothing else is said.
class ActiveCalls final : public CallHost {
 public:
  ActiveCalls(const CallSurroundings& around, CallRules rules, int32_t worker_threads);

  // Begins to look after them, a few times a second.
  void watch();

  // A call, or why there is none; either is answered.
  void take(const CallRoute& route, RequestContext admitted, const http::ServerRequest& request,
            http::Exchange exchange);

  // At most so many pages wait for a worker or are made at a time. Each may take as much memory as
  // a long conversation, and a client that leaves its page does not take it out of the queue.
  static constexpr int32_t kPagesMax = 32;

  // A page that may take longer to make than the loop has time; above kPagesMax, 429. `make` is
  // called on a worker, unless the client has left by then; the server's stop waits for it.
  void show_later(RequestContext admitted, http::Exchange exchange,
                  std::function<http::ServerReply()> make);

  void give_up_all(const llm::Failure& why);

  // When nothing is inside any more. Any thread but the loop's.
  void stop_workers() { workers_.stop(); }

  // --- for calls ---

  http::Loop& loop() override { return around_.loop; }
  async::Executor& workers() override { return workers_; }
  async::OrderedExecutor& lane_reads() override { return lane_reads_; }
  const ModelRegistry& catalogue() const override { return around_.catalogue; }
  const CallRules& rules() const override { return rules_; }
  ServeMetrics& metrics() override { return around_.metrics; }
  LiveRequests& live() override { return around_.live; }
  ResponseStore& responses() override { return around_.responses; }
  const std::shared_ptr<llm::AnswerRoom>& answer_room() override { return around_.answer_room; }
  bool grow(size_t bytes) override { return around_.admission.grow(bytes); }
  std::optional<llm::Failure> refusal_of(const ServedModel& model) const override {
    return around_.gate.refusal_of(model);
  }
  void over(Call& call) override;

 private:
  void tick();
  void give_up_unreachable();

  const CallSurroundings around_;
  const CallRules rules_;
  CallIds ids_;
  async::Executor workers_;
  async::OrderedExecutor lane_reads_;
  http::Timer tick_;
  std::list<std::shared_ptr<Call>> calls_;
  std::atomic<int32_t> pages_ = 0;  // that wait or are made; any thread
};

}  // namespace windrow::api
