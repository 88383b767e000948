// What `windrow ps` prints: the models and the requests of a running server, from its replies.
// Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::app {

// How busy a model is, from /metrics.
struct ModelLoad {
  int64_t rows_running = 0;
  int64_t rows_waiting = 0;   // with the model, and not in the batch yet
  int64_t queue_waiting = 0;  // before that, in the queue of the server
  int64_t cells_used = 0;     // of the KV cache, by running rows
  int64_t cells_max = 0;
};

// Of every model in a page of metrics; of one that has none there is nothing.
std::map<std::string, ModelLoad, std::less<>> model_loads(std::string_view metrics);

struct PsReplies {
  std::string url;              // of the server
  boost::json::value models;    // of /v1/models
  boost::json::value requests;  // of /v1/windrow/requests
  std::string metrics;          // of /metrics; empty: it is not shown
};

// Errors: kInvalid where the replies are not those of a Windrow server.
Result<std::string> ps_text(const PsReplies& replies);

// {"url", "models": [...], "requests": {...}}: the objects of the server, each model with its
// "load" where it is known.
Result<boost::json::object> ps_json(const PsReplies& replies);

}  // namespace windrow::app
