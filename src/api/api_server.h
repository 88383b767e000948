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

#include "api/catalogue.h"
#include "api/keys.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/loop.h"
#include "http/server.h"
#include "llm/backend.h"

namespace windrow::api {

// What computes behind the catalogue, read when somebody asks for /metrics.
struct ModelReading {
  std::string name;
  llm::BackendStats stats;
  dispatch::QueueReading queue;
  dispatch::DispatchCounts dispatch;
};

struct ApiOptions {
  http::ServerOptions http;  // make_error is set here
  KeyRing keys;
  std::vector<std::string> cors_origins;  // empty: none; "*": all

  int32_t worker_threads = 2;
  size_t bytes_inside_max = size_t{1} << 30;  // of bodies being worked on; above it 429
  uint64_t seed_default = 0;                  // llm::parse_request; 0: by chance, each its own
  boost::json::object body_defaults;          // laid under every body
  bool coalesce = true;                       // equal questions are asked once

  // A line of JSON for each request that has ended; may be empty. Any thread.
  std::function<void(std::string line)> log;
  bool log_prompts = false;

  std::function<std::vector<ModelReading>()> read_models;
  std::string version;
};

class ApiServer {
 public:
  // Errors as http::Server::open. `loop`, `clock` and `catalogue` outlive it.
  static Result<std::unique_ptr<ApiServer>> open(http::Loop& loop, const Clock& clock,
                                                 Catalogue& catalogue, ApiOptions options);

  // As stop(Duration{}).
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  uint16_t port() const;

  // Takes no more; what is inside is finished within `grace`, the rest cancelled. Blocks; not on
  // the loop's thread.
  void stop(Duration grace);

 private:
  class Core;

  explicit ApiServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::api
