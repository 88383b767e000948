// The models a person chose, opened: library, weights, contexts, backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/pages/serve_metrics.h"
#include "app/model_choice.h"
#include "app/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/host/device_thread.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/manager/model_backend.h"
#include "engine/sim/sim_vocabulary.h"
#include "llm/request_json.h"

namespace windrow::app {

// One model, ready to answer. Members are destroyed from the last to the first: the backend before
// the weights it runs on.
struct OpenModel {
  std::string name;  // as in NAME=PATH; empty: it answers whatever a row asks for
  std::string path;
  std::unique_ptr<engine::LlamaModel> model;  // null: it is a simulated one
  std::unique_ptr<engine::sim::SimVocabulary> simulated;
  std::unique_ptr<engine::ModelBackend> backend;
  llm::EndpointSet endpoints;  // what it can be asked
  bool embeds_first = false;   // it was made to embed or to rank, whatever else it can do
};

// What a model is opened for.
struct LoadOptions {
  int64_t date_unix_s = 0;  // what chat templates take for today
  bool serving = false;     // FleetOptions
  api::ServeMetrics* metrics = nullptr;
  std::function<int64_t()> arriving;

  // Told what became of a number of the user's that cannot be had as it is. May be empty; any
  // thread.
  std::function<void(const std::string&)> tell;

  // Of all models of the process: they share its cores. Null: each has a thread of its own.
  std::shared_ptr<engine::DeviceThread> thread;

  // Contexts are chosen as if no more memory were free; 0: by what is.
  uint64_t memory_bytes = 0;

  std::stop_token unwanted = {};  // loading is given up soon after it was stopped
};

// What a model's file says of it.
struct ModelHeader {
  std::optional<engine::ModelFacts> facts;  // absent: it is a simulated one
  uint64_t weights_bytes = 0;               // with adapters
};

// Reads no weights. `library` null will do for a simulated model. Errors as open_model, as far as
// they show so early.
Result<ModelHeader> read_model_header(engine::LlamaLibrary* library, const ModelChoice& choice);

// Looks whether the model can be loaded, as far as its file shows that without its weights being
// read (LlamaModel::rehearse): a server asks before another model leaves for it. Any thread.
Result<void> look_at_model(engine::LlamaLibrary* library, const ModelChoice& choice);

// What can be known of a model before it is loaded.
struct ModelEstimate {
  llm::EndpointSet endpoints;
  bool embeds_first = false;  // OpenModel
  int32_t vocabulary_size = 0;
  int32_t context_tokens = 0;         // of one request
  uint64_t bytes = 0;                 // about, with what its first request is likely to need
  uint64_t context_memory_bytes = 0;  // LoadOptions::memory_bytes
};

// `context_memory_bytes`: by what its contexts are chosen.
ModelEstimate model_estimate(const ModelHeader& header, const ModelChoice& choice,
                             const Settings& settings, uint64_t context_memory_bytes);

// About what an open model takes now, with the contexts it has.
uint64_t bytes_of(const OpenModel& model, const ModelChoice& choice, const Settings& settings);

// "sim:..." instead of a file (engine/sim/sim_options.h).
bool is_simulated(const ModelChoice& choice);

// "FILE, BYTES bytes, HASH": what a resumed job compares, so that another file under the same name
// is noticed. The hash is of the first and last MiB and the size; weights of gigabytes are not
// read.
Result<std::string> model_identity(const std::string& path);

// The folder of the plug-ins for libllama's devices: WINDROW_GGML_BACKENDS, else the one of an
// installed tree beside the executable, else empty (the one of this build).
std::string backends_folder();

// Loads the weights; contexts are opened when rows ask for them. `library` (null will do for a
// simulated model) and `clock` must outlive the model. Errors as LlamaModel::load,
// open_chat_template and engine::sim::parse_sim.
Result<OpenModel> open_model(engine::LlamaLibrary* library, const ModelChoice& choice,
                             const Settings& settings, const LoadOptions& how, const Clock& clock);

// Opens what the model's first request is likely to need, so that nobody waits for it.
Result<void> open_likely_contexts(OpenModel& model);

}  // namespace windrow::app
