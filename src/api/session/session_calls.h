// SessionCalls: the endpoints of sessions, a part of the server: /sessions and what is below it, in
// the shapes of the session server of miles (github.com/radixark/miles).
//
//   POST /sessions, GET /sessions                    with an API key, if the server demands keys
//   GET, DELETE /sessions/{id}                       these with the session's key, its creator's or
//   POST /sessions/{id}/v1/chat/completions          an admin's, as SessionService decides
//   POST /sessions/{id}/v1/messages                  translated to a chat completion
//   POST /sessions/{id}/samples
//   any method, /sessions/{id}/{path...}             passed on to the server of the model
//
// Threads of its own: some prepare turns, one writes answers and streams of turns, and some make
// long replies piece by piece, so that these delay no turn. None is held while a model works, or
// while a client reads slowly.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "api/calls/admission.h"
#include "api/pages/metrics_writer.h"
#include "api/server_part.h"
#include "api/session/session_request.h"
#include "async/executor.h"
#include "http/server.h"
#include "session/service/session_service.h"

namespace windrow::api {

struct SessionThreads {
  int32_t turns = 4;                        // prepare turns, and the short requests
  int32_t bodies = 2;                       // make samples and records
  size_t body_bytes_max = size_t{1} << 30;  // of all requests in progress together
};

// The families of sessions on /metrics. Pure.
void add_session_metrics(const session::SessionCounts& counts, MetricsWriter& page);

class SessionCalls final : public ServerPart {
 public:
  // `service` outlives it; null: every request is answered 501.
  SessionCalls(const PartHost& host, session::SessionService* service, SessionThreads threads);

  // As stop().
  ~SessionCalls() override;
  SessionCalls(const SessionCalls&) = delete;
  SessionCalls& operator=(const SessionCalls&) = delete;

  void add_routes(const Add& add) override;
  void metrics(MetricsWriter& page) const override;
  void add_health(boost::json::object& page) const override;
  std::optional<HeadVerdict> judge_head(const http::ServerRequest& head) const override;
  boost::json::object openapi() const override;
  void stop() override;

 private:
  using Request = std::shared_ptr<SessionRequest>;
  using Work = void (SessionCalls::*)(const Request& request);

  // On the loop's thread:
  Request accept(const http::ServerRequest& request, http::Exchange exchange, Access access);
  void take(Access access, async::Executor& workers, Work work, const http::ServerRequest& request,
            http::Exchange exchange);
  void take_turn(bool is_message, const http::ServerRequest& request, http::Exchange exchange);
  void take_other(llm::HttpMethod method, const http::ServerRequest& request,
                  http::Exchange exchange);

  // On workers:
  void create(const Request& request);
  void list(const Request& request);
  void show(const Request& request);
  void make_samples(const Request& request);
  void remove(const Request& request);

  const PartHost host_;
  session::SessionService* const service_;
  BodyMemoryBudget bodies_memory_;
  async::Executor turns_;
  async::Executor replies_;
  async::Executor bodies_;
};

// For ApiOptions::parts.
PartFactory session_part(session::SessionService* service, SessionThreads threads = {});

}  // namespace windrow::api
