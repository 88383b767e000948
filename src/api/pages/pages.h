// Pages: what is shown of the server, and the orders to it: how it is, its models, its counters,
// what runs in it, what it can be asked. Each member answers one path, from what stands around it
// at that moment; nothing here changes but by an admin's order and when a response is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls/body_memory_budget.h"
#include "api/calls/call_gate.h"
#include "api/calls/live_requests.h"
#include "api/calls/model_registry.h"
#include "api/keys/key_accounts.h"
#include "api/keys/request_guard.h"
#include "api/pages/metrics_page.h"
#include "api/pages/model_control.h"
#include "api/pages/serve_metrics.h"
#include "api/storage/response_store.h"
#include "base/clock.h"
#include "http/server.h"
#include "llm/answer_room.h"

namespace windrow::api {

// What the port says of itself.
struct PortReading {
  int64_t connections = 0;
  int64_t arriving = 0;              // requests of which not everything has come
  int64_t unsent_bytes = 0;          // of answers that clients have not taken
  int64_t slow_readers_dropped = 0;  // clients that took nothing while others needed the room
};

// What pages show. All of it outlives them; functions may be empty where that is said.
struct PageSources {
  const Clock& clock;
  const ModelRegistry& catalogue;
  const CallGate& gate;
  const KeyAccounts& accounts;
  const ServeMetrics& metrics;
  const LiveRequests& live;
  const BodyMemoryBudget& admission;
  const llm::AnswerRoom& answer_room;
  ResponseStore& responses;
  std::function<PortReading()> port;
  std::function<std::vector<ModelReading>()> models;  // may be empty: there are none
  std::function<StorageReading()> storage;            // likewise
};

struct PageOptions {
  std::string version;
  bool open_metrics = false;  // /metrics shows everything to everybody
};

// On the loop's thread. `asked` and `by` are good until a page returns.
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

  // Of Ollama's API.
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
  const std::string description_;  // of openapi()
};

}  // namespace windrow::api
