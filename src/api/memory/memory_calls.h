// MemoryCalls: the endpoints of memory banks, a part of the server: /v1/default/banks and what is
// below it, in the shapes of Hindsight's API 0.9.1, and /version and the health pages of that API.
//
// Their work waits for the disk, or for models, so it runs on threads of its own: a few for the
// disk, and one for each request that waits for models, up to a bound. Beyond it requests wait in
// a queue that has a bound, too; above that, or where their bodies take too much memory, they are
// answered 503.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>

#include "api/calls/admission.h"
#include "api/memory/memory_routes.h"
#include "api/pages/metrics_writer.h"
#include "api/server_part.h"
#include "async/executor.h"
#include "base/clock.h"
#include "http/server.h"
#include "memory/service/memory_service.h"

namespace windrow::api {

struct MemoryLimits {
  int32_t model_threads = 32;               // requests that wait for models at a time
  int32_t waiting_max = 256;                // requests that wait for such a thread
  size_t body_bytes_max = size_t{1} << 30;  // of all requests together
};

struct MemoryReading {
  memory::RunnerReadings runner;
  int64_t requests_on_disk = 0;
  int64_t requests_on_models = 0;
};

// The families of memory banks on /metrics. Pure.
void add_memory_metrics(const MemoryReading& memory, MetricsWriter& page);

class MemoryCalls final : public ServerPart {
 public:
  // `service` outlives it; null: every request is answered 501.
  MemoryCalls(const PartHost& host, memory::MemoryService* service, MemoryLimits limits);

  // As stop().
  ~MemoryCalls() override;
  MemoryCalls(const MemoryCalls&) = delete;
  MemoryCalls& operator=(const MemoryCalls&) = delete;

  void add_routes(const Add& add) override;
  void metrics(MetricsWriter& page) const override;
  boost::json::object openapi() const override;
  void stop() override;

 private:
  // The threads of one kind of work, and how many requests they have, queued ones included.
  struct Workers {
    Workers(int32_t threads, int64_t requests_max)
        : inside_max(requests_max), executor(threads, async::Executor::Start::kWithFirstTask) {}

    const int64_t inside_max;
    std::atomic<int64_t> inside = 0;
    async::Executor executor;
  };

  using Page = http::ServerReply (MemoryCalls::*)() const;

  // On the loop's thread:
  void take(const MemoryRoute& route, const http::ServerRequest& request, http::Exchange exchange);
  void show(Page page, const http::ServerRequest& request, http::Exchange exchange);
  http::ServerReply version() const;
  http::ServerReply liveness() const;
  http::ServerReply readiness() const;

  const PartHost host_;
  memory::MemoryService* const service_;
  const TimePoint started_;
  Workers disk_;
  Workers models_;
  BodyMemoryBudget bodies_;
};

// For ApiOptions::parts.
PartFactory memory_part(memory::MemoryService* service, MemoryLimits limits = {});

}  // namespace windrow::api
