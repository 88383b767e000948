// ModelRegistry: the models a server has, by the names that clients use. It is filled after the
// server has begun to listen; until set_state(kReady) every call of a model is answered 503.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatcher.h"
#include "llm/model_status.h"
#include "llm/request_json.h"
#include "llm/tokenizer.h"

namespace windrow::api {

struct ServedModel {
  std::string name;                            // as in answers and /v1/models
  dispatch::Dispatcher* dispatcher = nullptr;  // outlives the registry's use
  llm::EndpointSet endpoints;                  // what the model can answer

  // Upstreams have the model: bodies are sent to them as they were written (llm/raw_body.h).
  bool raw = false;
  uint64_t upstreams = 0;  // WorkItem::upstreams

  int64_t created_unix_s = 0;
  int32_t context_tokens = 0;   // of one request; 0: unknown
  int32_t vocabulary_size = 0;  // 0: unknown

  // Identifies the weights and the software: answers with equal fingerprints can be compared.
  // Empty: unknown.
  std::string fingerprint;
  std::string owner = "windrow";

  // For a model that is loaded and unloaded; null: it is always loaded, or an upstream has it.
  std::shared_ptr<llm::ModelResidency> residence = nullptr;

  // Null: there is none, because an upstream has the model and no --tokenizer names a file for it.
  std::shared_ptr<llm::LazyTokenizer> tokenizer = nullptr;
};

enum class ServeState : uint8_t {
  kLoading,
  kReady,
  kStopping,  // requests in progress may finish, no new ones are accepted
};

// Thread-safe.
class ModelRegistry {
 public:
  // A model of a name that exists replaces that one for later requests, and aliases follow. A model
  // added as `any` answers requests with unknown names.
  void add(ServedModel model, bool any = false);

  // Another name of a model that was added.
  void add_alias(std::string name, std::string model);

  // The model of this name or alias, else the model added as `any`; null if there is none. Valid as
  // long as the registry: replaced models are kept.
  const ServedModel* find(std::string_view name) const;

  // The one model that answers this endpoint; null if there is none or there are several.
  const ServedModel* only_one_for(llm::Endpoint endpoint) const;

  // In the order of adding; aliases come last.
  std::vector<ServedModel> list() const;

  void set_state(ServeState state);
  ServeState state() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const ServedModel>> models_;
  std::vector<std::unique_ptr<const ServedModel>> replaced_;
  std::map<std::string, const ServedModel*, std::less<>> by_name_;
  const ServedModel* any_ = nullptr;
  ServeState state_ = ServeState::kLoading;
};

// find() for a name as Ollama's clients write it, perhaps with ":latest" appended.
const ServedModel* find_tagged(const ModelRegistry& registry, std::string_view name);

}  // namespace windrow::api
