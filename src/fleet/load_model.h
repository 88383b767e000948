// Models of this process: libllama, the weights of a file, its contexts and the backend on top.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/host/device_thread.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/manager/model_backend.h"
#include "engine/sim/sim_vocabulary.h"
#include "fleet/fleet_options.h"
#include "fleet/model_choice.h"
#include "fleet/model_estimate.h"
#include "llm/step_report.h"

namespace windrow::fleet {

// One model in memory, ready to answer. Members are destroyed from the last to the first: the
// backend before the weights it runs on.
struct LocalModel {
  std::string name;  // ModelChoice::name
  std::string path;
  std::unique_ptr<engine::LlamaModel> weights;  // null: the model is simulated
  std::unique_ptr<engine::sim::SimVocabulary> simulated;
  std::unique_ptr<engine::ModelBackend> backend;
  ModelAbilities abilities;
};

struct LoadOptions {
  int64_t date_unix_s = 0;  // what chat templates take for today; of a server: the time of loading
  bool serving = false;     // clients wait for each answer, and come back with what they got
  std::function<llm::StepObserver(const std::string& model)> step_observer;  // may be empty
  llm::RowObserver on_rows;           // of rows that answer; may be empty
  std::function<int64_t()> arriving;  // requests that are just being read; may be empty

  // Told what became of a number in the options that cannot be had as it is. May be empty; any
  // thread.
  std::function<void(const std::string&)> warn;

  // Shared by all models of the process, which share its cores. Null: each has its own.
  std::shared_ptr<engine::DeviceThread> thread;

  // Contexts are sized as if no more memory were free; 0: by what is free.
  uint64_t memory_bytes = 0;

  std::stop_token unwanted = {};  // loading ends soon after it was stopped
};

// Loads the weights; contexts are opened when requests need them. `library` (null for a simulated
// model) and `clock` outlive the model. Blocks. Errors as LlamaModel::load, chosen_chat_template
// and engine::sim::parse_sim.
Result<LocalModel> load_model(engine::LlamaLibrary* library, const ModelChoice& choice,
                              const EngineOptions& options, const LoadOptions& how,
                              const Clock& clock);

// Opens the contexts that the model's first request is likely to need, so that it does not wait
// for them. Errors: kUnavailable.
Result<void> open_likely_contexts(LocalModel& model);

// About what a loaded model takes now, with the contexts it has.
uint64_t memory_of(const LocalModel& model, const ModelChoice& choice,
                   const EngineOptions& options);

}  // namespace windrow::fleet
