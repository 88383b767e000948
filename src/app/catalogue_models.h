// CatalogueModels: the models that a server has, for the batches it runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "api/calls/model_registry.h"
#include "batches/batch_host.h"

namespace windrow::app {

class CatalogueModels final : public batches::BatchModels {
 public:
  // `catalogue` outlives it. `unreachable`: nobody who could answer is there.
  CatalogueModels(const api::ModelRegistry& catalogue, std::function<bool()> unreachable);

  std::variant<batches::BatchModel, llm::Failure> find(llm::Endpoint endpoint,
                                                       std::string_view name) override;
  uint64_t upstreams_of(std::string_view name) override;
  bool is_waited_for(std::string_view name) override;
  std::string unavailable() override;

 private:
  const api::ModelRegistry& catalogue_;
  const std::function<bool()> unreachable_;
};

}  // namespace windrow::app
