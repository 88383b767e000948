// Replies of a simulated upstream that need no model: lists of models, Ollama's information, health
// and metrics. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim_upstream/options.h"
#include "sim_upstream/reply.h"
#include "sim_upstream/sim_stats.h"

namespace windrow::sim_upstream {

// The type of errors that are the request's fault.
constexpr std::string_view kInvalidRequest = "invalid_request_error";

// The answer to GET /v1/models.
std::string models_body(std::span<const std::string> models, int64_t created_s,
                        int64_t context_tokens);

// What /metrics shows besides SimStats.
struct LoadNow {
  int64_t busy = 0;     // slots
  int64_t waiting = 0;  // requests that wait for a slot
  double kv_usage = 0;  // of the memory for all slots' contexts, 0 to 1
};

// The text of /metrics, with vLLM's names, so that programs that read vLLM's metrics read it.
std::string metrics_text(std::string_view model, const SimStats& stats, const LoadNow& load);

// Which models there are, and what is said about them.
class ModelPages {
 public:
  // `options` outlives it.
  ModelPages(const SimOptions& options, int64_t created_s);

  // The first name of the list.
  const std::string& model() const { return names_.front(); }

  // A 404 where the server has a list of models without this one.
  std::optional<SimReply> refuse_model(std::string_view model) const;

  // The answer to a request of one of these pages; 404 for any other path.
  SimReply answer(std::string_view path, std::string_view body) const;

 private:
  SimReply answer_ollama(std::string_view path, std::string_view body) const;

  const SimOptions& options_;
  const int64_t created_s_;
  std::vector<std::string> names_;
};

}  // namespace windrow::sim_upstream
