// Orders to load and unload a model: by an admin, at /v1/windrow/models/{model}/load and
// .../unload, and by Ollama's clients, which send a model's name without a prompt and wait until it
// is loaded. Any thread; nothing blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/calls/model_registry.h"
#include "base/clock.h"
#include "llm/answer.h"
#include "llm/model_status.h"

namespace windrow::api {

enum class ModelOrder : uint8_t { kLoad, kUnload };

// Returns the model as it is right after the order, which takes its time. 404 for a model that is
// not served, 400 for one of an upstream, 403 without an admin's key, 409 for one that is in use or
// kept loaded.
std::variant<ServedModel, llm::Failure> give_order(const ModelRegistry& registry,
                                                   std::string_view name, ModelOrder order,
                                                   bool is_admin);

// A model that is being loaded for a client that waits for it.
class AwaitedLoad {
 public:
  struct End {
    std::optional<llm::Failure> failure;  // nullopt: the model was loaded
  };

  // Orders the model to be loaded. `model` has a residence. Without `until` the client waits for as
  // long as it takes.
  AwaitedLoad(const ServedModel& model, std::optional<TimePoint> until);

  // How the load ended; nullopt: it has not ended. To be polled.
  std::optional<End> look(TimePoint now) const;

 private:
  std::string name_;
  std::shared_ptr<llm::ModelResidency> residence_;
  std::optional<TimePoint> until_;
  llm::ModelStatus before_;  // when the load was ordered
};

}  // namespace windrow::api
