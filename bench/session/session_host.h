// SessionHost: the part of `windrow serve` that is measured: sessions behind HTTP, which ask model
// servers through the dispatcher.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/api_server.h"
#include "api/calls/model_registry.h"
#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/models.h"
#include "engine/llama/llama_library.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "llm/tokenizer.h"
#include "session/gauges.h"
#include "session/model_server.h"
#include "session/models/dispatched_session_models.h"
#include "session/service/session_service.h"
#include "upstream/upstream_backend.h"

namespace windrow::session_bench {

// The tokenizer of a model's file, with a context that no conversation reaches.
class BenchTokenizer {
 public:
  explicit BenchTokenizer(const std::string& path);

  const std::shared_ptr<const llm::Tokenizer>& get() const { return tokenizer_; }

  // The token that ends an answer, and how many tokens a word of the agents' texts has.
  int32_t end_id() const;
  double tokens_per_word() const;

 private:
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::shared_ptr<const llm::Tokenizer> tokenizer_;
};

struct HostModel {
  std::string name;
  uint16_t port = 0;
};

class SessionHost {
 public:
  struct Options {
    session::ModelKind kind = session::ModelKind::kSglangChat;
    bool asks_new_rows = false;
    size_t layers = 0;  // of the rows of experts; 0: none are asked for
  };
  SessionHost(const std::vector<HostModel>& models, std::shared_ptr<const llm::Tokenizer> tokenizer,
              const Options& options);
  ~SessionHost();
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;

  uint16_t port() const { return server_->port(); }
  session::SessionCounts counts() const { return service_->counts(); }

  // The processor time of the thread that reads replies of model servers.
  CpuSeconds cpu_of_reader();

 private:
  class NamedModels;

  const SystemClock clock_;
  http::Loop upstream_loop_{clock_};
  http::CurlClient client_{upstream_loop_, {}};
  std::unique_ptr<NamedModels> models_;
  std::unique_ptr<session::SessionService> service_;
  std::unique_ptr<session::DispatchedSessionModels> session_models_;
  http::Loop api_loop_{clock_};
  api::ModelRegistry registry_;
  std::unique_ptr<api::ApiServer> server_;
};

}  // namespace windrow::session_bench
