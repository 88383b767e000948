// What a Dispatcher is made with: DispatchOptions, and a DispatchUpstream for each backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "dispatch/budget.h"
#include "dispatch/concurrency_limit.h"
#include "dispatch/packer.h"
#include "dispatch/quota.h"
#include "dispatch/request_queue.h"
#include "dispatch/response_cache.h"
#include "dispatch/router.h"
#include "dispatch/work_item.h"
#include "llm/backend.h"
#include "queueing/reserve.h"

namespace windrow::dispatch {

// A packed call that is about to be sent.
struct SentBatch {
  UpstreamId upstream;
  int32_t rows = 0;
  int64_t tokens = 0;  // about what it costs
  PackReason reason = PackReason::kRoom;
};

struct DispatchOptions {
  int32_t in_flight_max = 0;  // of each upstream; 0: Backend::in_flight_target
  int32_t attempts_max = 3;   // of a request whose failures are transient

  // Requests that are queued beyond the calls that are out, among which the next one is chosen;
  // requests of many rows count for several (DispatchPolicy::backlog). Where calls are packed, at
  // least two calls' worth are queued.
  int32_t waiting_max = 0;

  Duration backoff_base{};                   // RetryOptions::backoff_base
  std::optional<Duration> refusal_patience;  // RetryOptions::refusal_patience
  std::vector<QuotaOptions> quotas = {{}};
  RequestQueueOptions queue;
  queueing::ReserveOptions reserve;
  RouterOptions router;
  PackerOptions packer = {.rows_max = 1};  // one request a call unless this says otherwise
  bool coalesce = true;                    // single-flight, by WorkItem::same_answer

  // UpstreamOptions::slots_by_rows of the backend of Dispatcher(backend, options).
  bool slots_by_rows = false;

  // Looked up before anything is sent, for items with same_answer. Not owned; outlives the
  // dispatcher. `cache_scope` is what decides about an answer beside the request: the names that
  // models have at the upstreams. Answers of different scopes are kept apart.
  ResponseCache* cache = nullptr;
  std::string cache_scope;

  // --- callbacks ---
  // Called without a lock, on threads as those of Done; they must not block. The dispatcher is not
  // idle while one runs (Dispatcher::wait_idle).

  // DispatchPolicyOptions::calls_max. `on_calls_max` is called once, when requests are queued
  // because of it.
  int32_t calls_max = 0;
  std::function<void()> on_calls_max;

  // DispatchPolicyOptions::cost_max. `cost_of` is called for each call that has ended, and
  // for each request of a packed one; empty: all is free.
  Cost cost_max = 0;
  std::function<Cost(const llm::Request&, const llm::Usage&)> cost_of;

  // Called once, when nothing more is sent because of cost_max. The owner of the dispatcher decides
  // what to do: stop_admitting and cancel_waiting end the rest.
  std::function<void()> on_budget_spent;

  // Called for each packed call, just before it is sent.
  std::function<void(const SentBatch&)> on_batch;

  uint64_t seed = 1;
};

struct DispatchUpstream {
  llm::Backend* backend = nullptr;  // outlives the dispatcher

  // The in-flight window is measured; absent: DispatchOptions::in_flight_max counts.
  std::optional<ConcurrencyOptions> concurrency;
  size_t quota = 0;
  int32_t pack_rows_max = INT32_MAX;  // 1: it takes one input a call
  bool slots_by_rows = false;         // UpstreamOptions::slots_by_rows
};

}  // namespace windrow::dispatch
