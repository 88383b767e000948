// The options of fleets, as plain values, and the interface by which they report what happens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "engine/llama/llama_model.h"
#include "fleet/model_choice.h"
#include "fleet/spending.h"
#include "http/curl_client.h"
#include "llm/request_json.h"
#include "llm/step_report.h"
#include "upstream/upstream_backend.h"

namespace windrow::fleet {

// Options for all models in this process.
struct EngineOptions {
  std::string backends_folder;  // libllama's plug-ins for devices; empty: those of this build
  std::vector<std::string> rpc_workers;  // HOST:PORT of each
  engine::DeviceChoice devices;

  int32_t context_tokens = 0;  // for all rows together; 0: by the model and the free memory
  int32_t rows_max = 32;
  int32_t batch_tokens = 2048;  // in one forward pass
  int32_t threads = 0;          // 0: one per core
  engine::KvType kv_type = engine::KvType::kF16;
  engine::FlashAttention flash_attention = engine::FlashAttention::kAuto;
  engine::KvCache kv_cache = engine::KvCache::kUnified;
  bool share_prefixes = true;

  Duration step_target = std::chrono::seconds(2);
  int32_t output_tokens_default = 4096;
  int32_t call_reasoning_percent = 50;
  llm::UnknownWords schema_unknown = llm::UnknownWords::kAnnotate;

  // While serving: requests that arrive within the window start together, up to so many rows; a
  // pass that embeds waits up to `linger_max` for more.
  Duration pack_window{};
  int32_t pack_rows_max = 256;
  Duration linger_max = std::chrono::microseconds(500);
};

// Options for models that are loaded on request and unloaded again.
struct PoolOptions {
  uint64_t memory_bytes = 0;      // for all together; 0: most of what is free
  std::vector<bool> pinned;       // one for each model
  std::vector<bool> loads_first;  // one for each model; empty: as many as fit
};

// The models of a server, once their files are there.
struct LocalModels {
  std::vector<ModelChoice> choices;
  PoolOptions pool;
  std::map<std::string, std::string> aliases;  // further name -> served name
};

struct LocalFleetOptions {
  EngineOptions engine;
  bool single_flight = true;
  std::string version;  // part of the fingerprints of models

  // Of a job: told after each pass which rows took part in it. Called on the device thread; empty:
  // rows are not traced.
  llm::RowObserver on_rows;

  // While serving.
  int32_t queue_max = 4096;  // requests that wait, of one model
  Duration unload_idle{};    // 0: idle models stay
};

// One upstream server, as it was chosen.
struct UpstreamChoice {
  upstream::UpstreamOptions server;
  std::optional<int32_t> concurrency;  // absent: measured
  int64_t requests_per_minute = 0;     // 0: no limit
  int64_t tokens_per_minute = 0;
};

struct UpstreamFleetOptions {
  std::vector<UpstreamChoice> choices;  // at least one
  http::ClientOptions client;           // `reply_budget` is set by the fleet
  size_t reply_memory_bytes = 0;        // for a job: replies while they are received
  int32_t attempts_max = 3;             // for one request
  int32_t queue_max = 4096;             // for a server: requests that wait
  Duration refusal_patience =
      std::chrono::seconds(10);  // of a server: how long refusals are retried
  int32_t pack_rows_max = 256;   // inputs to embed in one call; 1: no packing
  Duration pack_window{};
  bool single_flight = true;
  bool self_check = false;
  std::string cache;  // a file of answers; empty: none
  Spending spending;

  // For a server: the files of models here whose vocabulary and chat template are those of a model
  // that the servers have; ModelChoice::name says which one.
  std::vector<ModelChoice> tokenizers;
  std::string backends_folder;  // as in EngineOptions, for these files

  // How many requests may be in flight to all servers together (0: no limit), and what to warn when
  // that limit is reached.
  int32_t requests_max = 0;
  std::string requests_max_warning;
};

// Told what happens in a fleet, in words for its owner. Any thread; none of it may block for long.
class FleetEvents {
 public:
  virtual ~FleetEvents() = default;

  virtual void note(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;

  // A call with several texts to embed has been sent.
  virtual void packed_call_sent(const std::string& upstream, const dispatch::SentBatch& call) = 0;
};

}  // namespace windrow::fleet
