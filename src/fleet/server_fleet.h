// ServerFleet: what answers the requests of a server, models in this process that are loaded on
// request, or upstream servers. The server cannot tell which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "llm/backend.h"
#include "llm/model_status.h"
#include "llm/request_json.h"
#include "llm/step_report.h"
#include "llm/tokenizer.h"
#include "llm/upstream_status.h"
#include "upstream/server_kind.h"

namespace windrow::fleet {

struct ServerStart {
  // Counts the forward passes of a model. May be empty.
  std::function<llm::StepObserver(const std::string& model)> step_observer;

  // How many requests the server is just reading. May be empty. Any thread.
  std::function<int64_t()> arriving;
};

// A model that requests can name.
struct FleetModel {
  std::string name;
  std::vector<std::string> aliases;
  bool any = false;  // it also answers requests for models that do not exist

  dispatch::Dispatcher* dispatcher = nullptr;  // lives as long as the fleet
  llm::EndpointSet endpoints;                  // what it can be asked

  // Upstream servers have it: bodies are sent as clients wrote them (llm/raw_body.h), to these
  // servers (WorkItem::upstreams).
  bool raw = false;
  uint64_t upstreams = 0;

  int64_t created_unix_s = 0;
  int32_t context_tokens = 0;   // of one request; 0: unknown
  int32_t vocabulary_size = 0;  // 0: unknown

  // Identifies the weights and the code that computes with them: answers with equal fingerprints
  // can be compared. Empty: unknown.
  std::string fingerprint;
  std::string owner;

  // For a model that is loaded and unloaded; null: it is at a server.
  std::shared_ptr<llm::ModelResidency> residency;

  // Works whether the model is loaded or not. Null: there is none, because an upstream server has
  // the model and no file was named for it (UpstreamFleetOptions::tokenizers).
  std::shared_ptr<llm::LazyTokenizer> tokenizer;
};

// Counters and gauges of one dispatcher and what is behind it.
struct FleetReading {
  std::string name;
  llm::BackendStats stats;
  dispatch::QueueReading queue;
  dispatch::DispatchCounts dispatch;
  std::optional<llm::ModelStatus> model;  // unless it is at a server
  std::vector<llm::UpstreamStatus> upstreams;
};

// open() first, on one thread; the methods of the second group only after it has succeeded.
class ServerFleet {
 public:
  virtual ~ServerFleet() = default;

  // Loads the models that are to be loaded at the start, or asks the servers what they have.
  // Blocks. Errors of what is opened.
  virtual Result<void> open(const ServerStart& start) = 0;

  // --- Any time, any thread. ---

  // One for each dispatcher; empty before open() has ended.
  virtual std::vector<FleetReading> readings() const = 0;

  // None of these upstreams (FleetModel::upstreams; 0: of all) has been reachable for some seconds.
  // False for models in this process.
  virtual bool is_unreachable(uint64_t upstreams) const = 0;

  // --- After open(). ---

  // Which product these upstreams are (FleetModel::upstreams; 0: all). kUnknown: they have not told
  // yet, they are different ones, or the models are in this process. Any thread.
  virtual upstream::ServerKind server_kind(uint64_t upstreams) const = 0;

  virtual std::vector<FleetModel> models() const = 0;

  // What the owner of the server should know when it is ready; may be empty.
  virtual std::string note() const = 0;

  // From now on calls `changed` when models() may return something else, on a thread of the
  // fleet's, which waits for it. Empty: not any more, and no call is running when it returns.
  virtual void watch(std::function<void()> changed) = 0;
};

}  // namespace windrow::fleet
