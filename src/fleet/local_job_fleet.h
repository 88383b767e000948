// The models of a job, all in memory from its start to its end: JobModels loads them, and in
// LocalJobFleet each has a dispatcher of its own. The models of a server are loaded on request:
// local_server_fleet.h.
//
// A LocalJobFleet is not a pool in which all models are pinned: contexts are opened for the
// endpoints that rows ask for, and sized by the memory that is free after the models before; the
// dispatcher fills what the model itself says keeps it busy; --strict asks the model for the tokens
// of each row.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/llama/llama_library.h"
#include "fleet/fleet_options.h"
#include "fleet/job_fleet.h"
#include "fleet/load_model.h"
#include "fleet/model_choice.h"
#include "llm/backend.h"

namespace windrow::fleet {

// Backends that are added while another thread already reads their sum. Thread-safe.
class BackendGroup {
 public:
  // `backend` outlives the group.
  void add(const llm::Backend& backend);

  // Sums; of the device, which they share, the largest reading.
  llm::BackendStats stats() const;

 private:
  mutable std::mutex mutex_;
  std::vector<const llm::Backend*> backends_;
};

class JobModels {
 public:
  // `clock` outlives it.
  JobModels(const EngineOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // Loads one more model, and libllama with the first that needs it. Blocks. Errors as
  // LlamaLibrary::start and load_model.
  Result<void> load(const ModelChoice& choice, const LoadOptions& how);

  // In the order of loading; references stay valid until the next load().
  const std::vector<LocalModel>& models() const { return models_; }

  // The model that answers a request: the one it names; the first, where a name does not matter.
  const LocalModel& model_for(const llm::Request& request) const;

  // The version of libllama; "simulated" without it.
  std::string runtime() const;

  // Of all models together. Any thread, also during load().
  llm::BackendStats stats() const { return backends_.stats(); }

 private:
  const EngineOptions options_;
  const Clock& clock_;

  // Destroyed from the last to the first.
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::vector<LocalModel> models_;
  BackendGroup backends_;
};

class LocalJobFleet final : public JobFleet {
 public:
  // At least one choice. `clock` and `events` outlive the fleet.
  LocalJobFleet(std::vector<ModelChoice> choices, LocalFleetOptions options, const Clock& clock,
                FleetEvents& events);

  Result<void> open(const JobStart& start) override;
  llm::BackendStats stats() const override { return models_.stats(); }
  dispatch::DispatchCounts counts() const override;
  std::vector<llm::UpstreamStatus> upstreams() override { return {}; }
  std::vector<JobRoute> routes() const override;
  JobHooks hooks() override;
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer(std::string_view model) const override;
  std::string note() const override;
  std::string runtime() const override { return models_.runtime(); }
  std::optional<Error> final_error() override { return std::nullopt; }
  std::vector<std::string> final_notes() const override { return {}; }

 private:
  const std::vector<ModelChoice> choices_;
  const LocalFleetOptions options_;
  const Clock& clock_;
  FleetEvents& events_;

  int64_t began_unix_s_ = 0;

  // Destroyed from the last to the first.
  JobModels models_;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers_;
};

}  // namespace windrow::fleet
