// ApiServer: the OpenAI API over HTTP, in front of dispatchers.
//
//   auto server = ApiServer::open(loop, clock, catalogue, options);   // listens; models may load
//   catalogue.add({...});  catalogue.set_state(ServeState::kReady);
//   ...
//   catalogue.set_state(ServeState::kStopping);  (*server)->stop(grace);
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
#include "api/storage/storage_calls.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/request_json.h"

namespace windrow::api {

struct ApiOptions {
  http::ServerOptions http;                   // make_error and at_head are set here
  std::shared_ptr<const KeyRingHolder> keys;  // KeyFile::keys(); null: nobody needs one

  // Where others use them, too, such as batches; null: made of `keys`.
  std::shared_ptr<KeyAccounts> accounts;

  bool open_metrics = false;  // /metrics needs no key
  CorsPolicy cors;

  int32_t worker_threads = 2;
  size_t bytes_inside_max = size_t{1} << 30;  // of bodies being worked on; above it 429

  // Of answers while they are made, written and handed to the connection; above it 503.
  size_t answer_bytes_max = size_t{1} << 30;
  uint64_t seed_default = 0;          // llm::parse_request; 0: by chance, each its own
  boost::json::object body_defaults;  // laid under every body
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
  bool coalesce = true;                       // equal questions are asked once
  Duration load_wait{};                       // CallRules
  size_t kept_bytes_max = size_t{256} << 20;  // of answers of /v1/responses; 0: none is kept

  // A line of JSON for each request that has ended; may be empty. Any thread.
  std::function<void(std::string line)> log;
  bool log_prompts = false;

  // Read when somebody asks for /metrics; empty: there are none.
  std::function<std::vector<ModelReading>()> read_models;
  std::function<StorageReading()> read_storage;
  std::shared_ptr<ServeMetrics> metrics;  // for those who count steps; null: the server's own
  std::string version;

  // Files and batches; none: those who ask for them are told so.
  Storage storage;

  // Nobody of these (ServedModel::upstreams) who could answer is there, 0: nobody at all. Asked for
  // each call and a few times a second; any thread. While that is so, calls are refused, and those
  // are given up that wait; what is being answered may still come to its end. Empty: it never is.
  std::function<bool(uint64_t upstreams)> nobody_answers;
};

class ApiServer {
 public:
  // Errors as http::Server::open. `loop`, `clock` and `catalogue` outlive it.
  static Result<std::unique_ptr<ApiServer>> open(http::Loop& loop, const Clock& clock,
                                                 ModelRegistry& catalogue, ApiOptions options);

  // As stop(Duration{}).
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  uint16_t port() const;

  // http::Server::arriving.
  int64_t arriving() const;

  // Returns the routes that the server answers, to be compared with its description.
  const ServedRoutes& routes() const;

  // Cancels the calls that are inside, whose clients are told that the server stops. Any thread but
  // the loop's.
  void give_up();

  // Takes no more; what is inside is finished within `grace`, the rest cancelled. Blocks; not on
  // the loop's thread.
  void stop(Duration grace);

 private:
  class Core;

  explicit ApiServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::api
