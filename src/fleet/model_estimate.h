// What is known of a model before it is loaded: what it can be asked, and about how much memory it
// will take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "fleet/fleet_options.h"
#include "fleet/model_choice.h"
#include "llm/request_json.h"

namespace windrow::fleet {

// What the header of a model's file says.
struct ModelHeader {
  std::optional<engine::ModelFacts> facts;  // absent: the model is simulated
  uint64_t weights_bytes = 0;               // with adapters
};

// Reads no weights. `library` may be null for a simulated model. Errors: those of load_model that
// show so early. Any thread.
Result<ModelHeader> read_model_header(engine::LlamaLibrary* library, const ModelChoice& choice);

// Checks whether the model can be loaded, as far as its file shows that without its weights being
// read (LlamaModel::rehearse). A server calls it before it unloads another model for this one. Any
// thread.
Result<void> check_loadable(engine::LlamaLibrary* library, const ModelChoice& choice);

// What a model can be asked.
struct ModelAbilities {
  llm::EndpointSet endpoints;
  bool ranks = false;

  // It was made to embed or to rank, whatever else it can do.
  bool embeds_first = false;
};

ModelAbilities abilities_of(const engine::ModelFacts& facts, const ModelChoice& choice,
                            bool has_chat_template);
ModelAbilities simulated_abilities(const ModelChoice& choice);

struct ModelEstimate {
  ModelAbilities abilities;
  int32_t vocabulary_size = 0;
  int32_t context_tokens = 0;         // of one request
  uint64_t bytes = 0;                 // with the contexts that its first request is likely to need
  uint64_t context_memory_bytes = 0;  // LoadOptions::memory_bytes
};

// `context_memory_bytes`: the memory by which its contexts are sized.
ModelEstimate model_estimate(const ModelHeader& header, const ModelChoice& choice,
                             const EngineOptions& options, uint64_t context_memory_bytes);

// The memory by which the contexts of the index-th model are sized, where the size of a context is
// not configured: such that all models fit together where that leaves room for contexts, else such
// that others fit beside it. A context takes less than half of it. `least_bytes`: what each model
// takes with the smallest contexts. 0 without a limit of memory.
uint64_t context_memory(std::span<const uint64_t> least_bytes, size_t index, uint64_t memory_bytes);

// --- what contexts are opened with ---

engine::LlamaRunnerOptions runner_options(const EngineOptions& options, uint64_t memory_bytes);
engine::LlamaEmbeddingOptions embedding_options(const EngineOptions& options,
                                                const ModelChoice& choice, uint64_t memory_bytes);

// Bytes of a simulated model, as its options say.
uint64_t simulated_bytes(const ModelChoice& choice);

}  // namespace windrow::fleet
