// How much memory a server uses, where it tells: on a metrics page, or in Ollama's list of loaded
// models. The readers are pure; MemoryPoll asks the server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "http/client.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

// A sample of a metrics page in the text format of Prometheus ("Exposition formats" at
// prometheus.io), one a line: NAME{LABELS} VALUE.
struct MetricSample {
  std::string_view name;  // "vllm:kv_cache_usage_perc"; points into the page
  double value = 0;       // may be infinite or NaN
};

// MetricsText: reads a metrics page sample by sample. A line that is no sample is skipped, so a
// page of anything else has none. Labels are checked for their form and not kept.
class MetricsText {
 public:
  // `text` outlives it and its samples.
  explicit MetricsText(std::string_view text) : rest_(text) {}

  // The next sample; none at the end.
  std::optional<MetricSample> next();

 private:
  std::string_view rest_;
};

struct MemoryReading {
  uint64_t device_bytes = 0;  // in use; 0: unknown

  // Share of the KV cache, 0 to 1. Near 1 a server makes requests wait or computes them again,
  // whatever its limit of requests is.
  std::optional<double> cache_used;

  bool is_known() const { return device_bytes > 0 || cache_used.has_value(); }

  friend bool operator==(const MemoryReading&, const MemoryReading&) = default;
};

// Reads the body of Ollama's /api/ps: the memory of all loaded models. Anything else is unknown.
MemoryReading memory_in_models(std::string_view loaded_models);

// Reads a metrics page of vLLM, SGLang, llama-server or Triton. Of a server with several engines:
// the fullest cache, and the bytes of all together. Anything else is unknown.
MemoryReading memory_in_metrics(std::string_view metrics);

// MemoryPoll: asks one server now and then how full its memory is: one request at a time, at once
// at first and then after 1, 2, 4 ... 10 s, so that a short job gets a reading too. A server that
// gives no reading three times is not asked again. Any thread.
class MemoryPoll {
 public:
  // The last reading, and the highest.
  struct Reading {
    MemoryReading now;
    MemoryReading most;
  };

  // Asks Ollama for its loaded models, other servers for their metrics page; never those that have
  // neither. `client` and `clock` outlive it. Uses the address and the key of `options`.
  MemoryPoll(http::Client& client, const Clock& clock, const UpstreamOptions& options,
             ServerKind kind);

  // Sends a request if one is due; does not wait for the reply.
  void ask_when_due();

  Reading reading() const;

 private:
  struct State;

  http::Client& client_;
  const Clock& clock_;
  const ServerKind kind_;
  http::ClientRequest request_;

  // Shared with the request in flight.
  std::shared_ptr<State> state_;
};

}  // namespace windrow::upstream
