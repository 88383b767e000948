// ModelFleet: who answers the rows of a run or the requests of a server, models in this process or
// servers elsewhere. Neither can tell them apart.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "api/calls/model_registry.h"
#include "api/pages/metrics_page.h"
#include "api/pages/serve_metrics.h"
#include "base/result.h"
#include "batch/job_runner.h"
#include "dispatch/dispatcher.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/request.h"
#include "report/upstream_figures.h"

namespace windrow::app {

// A model as a server offers it.
struct FleetModel {
  api::ServedModel model;
  std::vector<std::string> aliases;
  bool any = false;  // also for requests that name one nobody has
};

// What they get of the run or the server they are opened for.
struct FleetOptions {
  // A server: people wait for each answer, and come back with what they were told.
  bool serving = false;
  std::shared_ptr<api::ServeMetrics> metrics = nullptr;  // of the server, to count forward passes
  std::function<int64_t()> arriving = nullptr;           // requests it is just reading

  // Servers elsewhere: how many files this process may have open, and how many of them are for
  // requests, of all servers together.
  uint64_t files_max = 0;
  int32_t requests_max = 0;  // 0: as many as the servers take

  int64_t began_unix_s = 0;  // what chat templates take for today

  // Now and then while they are opened: why the run is refused already. May be empty.
  std::function<std::optional<Error>()> refusal;

  // No more may be spent. Any thread.
  std::function<void()> on_budget_spent;

  // Nothing will ever be answered: final_error() says why. Any thread.
  std::function<void()> on_all_failed;
};

class ModelFleet {
 public:
  virtual ~ModelFleet() = default;

  // --- from the start ---

  // One object for each: {"name", "path"} or {"url"}.
  virtual boost::json::array description() const = 0;

  // --- once, by the thread of the command ---

  // Loads weights, or asks the servers who they are. Blocks. Errors as whoever is opened;
  // what the run was refused for.
  virtual Result<void> open(const FleetOptions& run) = 0;

  // --- opened ---

  virtual std::span<const batch::ModelRoute> routes() const = 0;

  // What people should know before the rows run; may be empty.
  virtual std::string note() const = 0;

  // A row is about to be submitted; they may submit something of their own beside it. Any thread.
  virtual void before_row(const llm::Request&) {}

  // Why the run is worth nothing, known at the latest when the rows have ended: nobody answers, or
  // no answer can be trusted.
  virtual std::optional<Error> final_error() { return std::nullopt; }

  // Why a request would fail, as far as that can be told without answering it. Any thread.
  virtual std::optional<llm::Failure> check(const llm::Request& request) const = 0;

  // What a request costs at most; a Failure where that must be known and is not. Any thread.
  virtual std::variant<dispatch::Cost, llm::Failure> expected_cost(
      const llm::Request& request) const = 0;

  // Which servers have a model, as WorkItem::upstreams says it. Any thread.
  virtual uint64_t upstreams_of(const std::string& model) const = 0;

  // What computes, for the summary.
  virtual std::string runtime() const = 0;

  // What people should know when the rows have ended.
  virtual std::vector<std::string> final_notes() const { return {}; }

  // What a server has of them; opened for one.
  virtual std::vector<FleetModel> offered() const = 0;

  // Calls `changed` whenever offered() may say something else from now on, on a thread of theirs,
  // which waits for it; empty: not any more.
  virtual void watch(std::function<void()> /*changed*/) {}

  // --- any time, any thread ---

  // None of these (upstreams_of; 0: of all) can be reached, and that for some seconds.
  virtual bool nobody_answers(uint64_t /*upstreams*/) const { return false; }

  // For each dispatcher; empty until they are opened.
  virtual std::vector<api::ModelReading> readings() const = 0;

  virtual llm::BackendStats stats() const = 0;

  virtual dispatch::DispatchCounts counts() const = 0;

  // Of each server; empty for models here.
  virtual std::vector<llm::UpstreamStatus> upstreams() const = 0;
};

}  // namespace windrow::app
