// ModelRegistry: the models a server has, by the names clients use. It is filled while the server
// is listening already: until then every call of a model is answered 503.
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

namespace windrow::api {

struct ServedModel {
  std::string name;                            // as answers and /v1/models say it
  dispatch::Dispatcher* dispatcher = nullptr;  // outlives the catalogue's use
  llm::EndpointSet endpoints;                  // what it can be asked

  // Servers elsewhere have it: bodies go there as they were written (llm/raw_request.h).
  bool raw = false;
  uint64_t upstreams = 0;  // WorkItem::upstreams

  int64_t created_unix_s = 0;
  int32_t context_tokens = 0;   // of one request; 0: unknown
  int32_t vocabulary_size = 0;  // 0: unknown

  // Of the weights and of what computes with them: answers of equal ones can be compared. Empty:
  // unknown.
  std::string fingerprint;
  std::string owner = "windrow";

  // Of one here that comes and goes; null: it is always there, or elsewhere.
  std::shared_ptr<llm::ModelResidency> residence = nullptr;
};

enum class ServeState : uint8_t {
  kLoading,
  kReady,
  kStopping,  // what is inside is finished, nothing new is taken
};

// Thread-safe.
class ModelRegistry {
 public:
  // Most before set_state(kReady). One of a name that is there takes its place, for what comes from
  // then on; aliases follow. A model that answers whatever name a request has is given as `any`.
  void add(ServedModel model, bool any = false);

  // Another name of a model that was added.
  void add_alias(std::string name, std::string model);

  // A name nobody knows is asked of what answers any; nullptr: there is none. Good as long as the
  // catalogue, which never forgets one.
  const ServedModel* find(std::string_view name) const;

  // The one model that answers this; nullptr: there is none, or several.
  const ServedModel* only_one_for(llm::Endpoint endpoint) const;

  // In the order of adding, aliases behind them.
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

// find() of a name as Ollama's clients write it, who may put ":latest" behind one.
const ServedModel* find_tagged(const ModelRegistry& catalogue, std::string_view name);

}  // namespace windrow::api
