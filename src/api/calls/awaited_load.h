// AwaitedLoad: a model that is being loaded for a client who waits until it is there, as Ollama's
// clients do who send a model's name and nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/calls/model_registry.h"
#include "base/clock.h"
#include "llm/answer.h"
#include "llm/model_status.h"

namespace windrow::api {

class AwaitedLoad {
 public:
  struct End {
    std::optional<llm::Failure> failure;  // nullopt: the model was loaded
  };

  // Orders the model to be loaded. `model` is one that comes and goes; `until` absent: the client
  // waits as long as it takes.
  AwaitedLoad(const ServedModel& model, std::optional<TimePoint> until);

  // How the load ended; nullopt: the model is still on its way. To be asked now and then; any
  // thread.
  std::optional<End> look(TimePoint now) const;

 private:
  std::string name_;
  std::shared_ptr<llm::ModelResidency> residence_;
  std::optional<TimePoint> until_;
  llm::ModelStatus before_;  // how the model was when it was ordered
};

}  // namespace windrow::api
