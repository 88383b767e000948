// JobModels: the models of a job, all in memory from its start to its end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/llama/llama_library.h"
#include "fleet/fleet_options.h"
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

}  // namespace windrow::fleet
