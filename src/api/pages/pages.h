// Pages: the endpoints that show the server and control it: health, models, metrics, live requests,
// stored responses, the OpenAPI document. Each method answers one path from the current state. Only
// an admin's orders and deleting a response change anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls/admission.h"
#include "api/calls/live_requests.h"
#include "api/calls/model_orders.h"
#include "api/calls/model_registry.h"
#include "api/keys/key_accounts.h"
#include "api/keys/request_guard.h"
#include "api/pages/metrics_page.h"
#include "api/pages/serve_metrics.h"
#include "api/server_part.h"
#include "api/storage/response_store.h"
#include "base/clock.h"
#include "http/server.h"
#include "llm/answer_room.h"

namespace windrow::api {

// The state of the HTTP server.
struct PortReading {
  int64_t connections = 0;
  int64_t arriving = 0;              // requests that are not complete yet
  int64_t unsent_bytes = 0;          // of answers that clients have not read
  int64_t slow_readers_dropped = 0;  // clients disconnected because they read nothing
};

// What the pages show. All of it outlives them.
struct PageSources {
  const Clock& clock;
  const ModelRegistry& registry;
  const CallGate& gate;
  const KeyAccounts& accounts;
  const ServeMetrics& metrics;
  const LiveRequests& live;
  const BodyMemoryBudget& admission;
  const llm::AnswerRoom& answer_room;
  ResponseStore& responses;
  std::function<PortReading()> port;
  std::function<std::vector<ModelReading>()> models;  // may be empty
  std::span<const std::unique_ptr<ServerPart>> parts = {};
};

struct PageOptions {
  std::string version;
  bool open_metrics = false;  // /metrics shows all keys to every client
};

// On the loop's thread; no method blocks. Errors are replies, too.
class Pages {
 public:
  Pages(PageSources sources, PageOptions options);

  using Asked = http::ServerRequest;

  http::ServerReply health(const Asked& asked, const RequestContext& by) const;
  http::ServerReply ready(const Asked& asked, const RequestContext& by) const;
  http::ServerReply models(const Asked& asked, const RequestContext& by) const;
  http::ServerReply model(const Asked& asked, const RequestContext& by) const;
  http::ServerReply load(const Asked& asked, const RequestContext& by) const;
  http::ServerReply unload(const Asked& asked, const RequestContext& by) const;
  http::ServerReply metrics(const Asked& asked, const RequestContext& by) const;
  http::ServerReply requests(const Asked& asked, const RequestContext& by) const;
  http::ServerReply response(const Asked& asked, const RequestContext& by) const;
  http::ServerReply delete_response(const Asked& asked, const RequestContext& by) const;
  http::ServerReply compacted_response(const Asked& asked, const RequestContext& by) const;
  http::ServerReply openapi(const Asked& asked, const RequestContext& by) const;

  // Ollama's API:
  http::ServerReply ollama_tags(const Asked& asked, const RequestContext& by) const;
  http::ServerReply ollama_ps(const Asked& asked, const RequestContext& by) const;
  http::ServerReply ollama_show(const Asked& asked, const RequestContext& by) const;
  http::ServerReply ollama_version(const Asked& asked, const RequestContext& by) const;

 private:
  http::ServerReply ready_model(std::string_view name) const;
  http::ServerReply order(const Asked& asked, const RequestContext& by, ModelOrder order) const;
  std::vector<KeyReading> keys_shown_to(const RequestContext& admitted) const;

  const PageSources sources_;
  const PageOptions options_;
  const std::string description_;  // the page of openapi()
};

// --- stored responses: GET and DELETE /v1/responses/{id}, and GET /v1/responses/{id}/input_items.
// Any thread; nothing blocks. Errors are replies, too. ---

// The response as it was answered. `query` may ask for additions that OpenAI has; none exist here.
http::ServerReply show_response(ResponseStore& store, std::string_view key, std::string_view id,
                                std::string_view query);

http::ServerReply delete_response(ResponseStore& store, std::string_view key, std::string_view id);

// The input items of the response, newest first. `query` has limit (1 to 100, default 20), order
// ("desc" or "asc") and after, an item's id. Takes long for long conversations.
http::ServerReply show_input_items(ResponseStore& store, std::string_view key, std::string_view id,
                                   std::string_view query);

}  // namespace windrow::api
