// Models: which dispatcher answers requests for a model. Work that names models (batches of a
// server, programs) asks this and need not know whether they are loaded here or served elsewhere.
//
//   auto found = models.find(endpoint, name);
//   if (auto* failure = std::get_if<llm::Failure>(&found)) return *std::move(failure);
//   auto& model = std::get<dispatch::Model>(found);
//   item.upstreams = models.upstreams_of(name);
//   model.dispatcher->submit(...);
//
// Thread-safe. is_waited_for() and unavailable() may be called with a lock held and do not block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::dispatch {

class Dispatcher;

struct Model {
  std::string name;  // the name in answers and in /v1/models

  // Outlives all work that asks for models. Several models may share one.
  Dispatcher* dispatcher = nullptr;

  // An upstream has the model: bodies are sent to it as they were written.
  bool raw = false;
};

// Outlives all work that it is given to.
class Models {
 public:
  virtual ~Models() = default;

  // The model that answers requests with this name, which may be an alias; an empty name stands for
  // requests without one. The model need not be loaded yet: its dispatcher queues requests until it
  // is. The result may differ from call to call, as models come and go. Fails with
  //   404 model_not_found       there is no such model, or a name is needed
  //   400 unsupported_by_model  the model does not answer this endpoint
  virtual std::variant<Model, llm::Failure> find(llm::Endpoint endpoint, std::string_view name) = 0;

  // The upstreams that have this model now (WorkItem::upstreams); 0: any, or the model is local.
  virtual uint64_t upstreams_of(std::string_view name) = 0;

  // True if requests for this model wait until it is loaded, or would have to.
  virtual bool is_waited_for(std::string_view /*name*/) { return false; }

  // Why no request can be answered now; empty if requests can be answered.
  virtual std::string unavailable() { return ""; }
};

}  // namespace windrow::dispatch
