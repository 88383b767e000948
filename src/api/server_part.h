// ServerPart: endpoints that a server has beside its own, with their metrics and their section of
// the OpenAPI document. Files and batches are one (storage/storage_calls.h). ApiServer makes its
// parts from ApiOptions::parts and knows no more of them than this.
//
//   options.parts.push_back([](const PartHost& host) { return std::make_unique<MyPart>(host); });
//
// A handler of a part, on the loop's thread:
//
//   std::optional<PartRequest> admitted = host_.admit(request, std::move(exchange), Access::kKey);
//   if (!admitted) return;
//   admitted->answer(http::ServerReply{.body = "{}"});  // or later, on any thread
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "api/keys/request_guard.h"
#include "api/pages/metrics_writer.h"
#include "async/in_flight_counter.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// A reply, or why there is none: the log needs the failure's code.
using PartAnswer = std::variant<http::ServerReply, llm::Failure>;

// A request that was admitted, until its answer is complete. While it exists the server waits for
// it (ApiServer::stop). Used by one thread at a time.
struct PartRequest {
  // Enters `counter`, which outlives it.
  PartRequest(RequestContext of_guard, http::Exchange to, async::InFlightCounter& counter);

  // Sends the answer with its headers and notes it for the log.
  void answer(PartAnswer answer);

  struct Leave {
    void operator()(async::InFlightCounter* counter) const { counter->leave(); }
  };
  // The first member, so that the request counts as in flight until all others are destroyed.
  std::unique_ptr<async::InFlightCounter, Leave> counted;
  RequestContext context;
  http::Exchange exchange;
};

// What a part is made with. A part may keep a copy; all that it refers to outlives the part.
struct PartHost {
  // Checks the key and its limits, and counts the request as in flight. Nullopt: the request has
  // been answered, because the key may not or the server is stopping. On the loop's thread.
  std::optional<PartRequest> admit(const http::ServerRequest& request, http::Exchange exchange,
                                   Access access) const;

  RequestGuard& guard;
  async::InFlightCounter& in_flight;

  // Why nothing is accepted at the moment, if so. On the loop's thread.
  std::function<std::optional<llm::Failure>()> refusal;
};

class ServerPart {
 public:
  // On the loop's thread. If the server could not be opened, there was no stop() before.
  virtual ~ServerPart() = default;

  using Add = std::function<void(std::string_view method, std::string_view path, http::Handler)>;

  // Calls `add` for each of its routes. Their handlers run on the loop's thread and must not block;
  // they are gone before the part is. Once.
  virtual void add_routes(const Add& add) = 0;

  // Adds its families to the page /metrics, always the same ones. On the loop's thread; must not
  // block.
  virtual void metrics(MetricsWriter& page) const = 0;

  // Adds its members to the page /health. On the loop's thread; must not block.
  virtual void add_health(boost::json::object& page) const { static_cast<void>(page); }

  // Adds what of the part is in progress to the page /v1/windrow/requests; with `key` only that
  // key's. On the loop's thread; must not block.
  virtual void add_requests(boost::json::object& page, std::optional<std::string_view> key) const {
    static_cast<void>(page);
    static_cast<void>(key);
  }

  // The part's own judgement of a request whose long body would follow (ServerOptions::at_head).
  struct HeadVerdict {
    std::optional<http::ServerReply> refusal;  // nullopt: the body may come
  };

  // Nullopt: the path is not this part's, or a key is all that it needs. On the loop's thread.
  virtual std::optional<HeadVerdict> judge_head(const http::ServerRequest& head) const {
    static_cast<void>(head);
    return std::nullopt;
  }

  // What it adds to the OpenAPI document: "paths", which has its routes, and "components", whose
  // names no other part uses. References to the server's own components are fine. Called once.
  virtual boost::json::object openapi() const = 0;

  // Ends its threads and blocks until they have ended. Called once, after the last request has
  // ended; not on the loop's thread.
  virtual void stop() = 0;
};

using PartFactory = std::function<std::unique_ptr<ServerPart>(const PartHost& host)>;

}  // namespace windrow::api
