// ApiServer: the OpenAI API over HTTP, in front of dispatchers.
//
//   auto server = ApiServer::open(loop, clock, registry, options);   // listens; models may load
//   registry.add({...});  registry.set_state(ServeState::kReady);
//   ...
//   registry.set_state(ServeState::kStopping);  (*server)->stop(grace);
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/calls/model_registry.h"
#include "api/cors.h"
#include "api/keys/key_accounts.h"
#include "api/keys/keys.h"
#include "api/pages/metrics_page.h"
#include "api/pages/serve_metrics.h"
#include "api/route_table.h"
#include "api/server_part.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/request_json.h"

namespace windrow::api {

struct ApiOptions {
  http::ServerOptions http;                   // make_error and at_head are set here
  std::shared_ptr<const KeyRingHolder> keys;  // KeyFile::keys(); null: requests need no key

  // For sharing the accounts, as with batches; null: the server makes its own from `keys`.
  std::shared_ptr<KeyAccounts> accounts;

  bool open_metrics = false;  // /metrics needs no key
  CorsPolicy cors;

  int32_t worker_threads = 2;
  size_t bytes_inside_max = size_t{1} << 30;  // BodyMemoryBudget: above it 429

  // llm::AnswerRoom: memory of answers until they are handed to the connection; above it 503.
  size_t answer_bytes_max = size_t{1} << 30;
  uint64_t seed_default = 0;          // of requests without a seed; 0: a random one for each
  boost::json::object body_defaults;  // defaults for every body
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
  bool coalesce = true;                       // single-flight: equal requests share one call
  Duration load_wait{};                       // CallRules::load_wait
  size_t kept_bytes_max = size_t{256} << 20;  // ResponseStore; 0: no response is stored

  // Gets a line of JSON for each request that has ended; may be empty. Called on any thread.
  std::function<void(std::string line)> log;
  bool log_prompts = false;

  // Read for /metrics; may be empty.
  std::function<std::vector<ModelReading>()> read_models;
  std::shared_ptr<ServeMetrics> metrics;  // to share with engines; null: the server's own
  std::string version;

  // Endpoints beside the server's own: files and batches (storage_part) and others. Called while
  // the server is opened.
  std::vector<PartFactory> parts;

  // True if none of these upstreams (ServedModel::upstreams; 0: all) is reachable. Asked for each
  // call and a few times a second, on any thread. While it is true, new and queued calls fail with
  // 503; calls in flight may still finish. Empty: upstreams are always reachable.
  std::function<bool(uint64_t upstreams)> are_unreachable;
};

class ApiServer {
 public:
  // Errors as http::Server::open. `loop`, `clock` and `registry` outlive it.
  static Result<std::unique_ptr<ApiServer>> open(http::Loop& loop, const Clock& clock,
                                                 ModelRegistry& registry, ApiOptions options);

  // As stop(Duration{}).
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  uint16_t port() const;

  // As http::Server::arriving. Any thread.
  int64_t arriving() const;

  // The routes of the server, for comparing them with its description.
  const ServedRoutes& routes() const;

  // As http::Server::reload_tls.
  Result<void> reload_tls();

  // Cancels all calls, whose clients get 503 server_stopping. Blocks until that is decided; any
  // thread but the loop's.
  void give_up();

  // Accepts no more requests. Requests in progress may finish within `grace`, after which they are
  // cancelled. Blocks until none is left; any thread but the loop's.
  void stop(Duration grace);

 private:
  class Core;

  explicit ApiServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::api
