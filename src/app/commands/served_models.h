// The models of a server on their way from its fleet to requests and batches.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/model_registry.h"
#include "api/pages/metrics_page.h"
#include "dispatch/models.h"
#include "fleet/server_fleet.h"

namespace windrow::app {

// Adds all models and their aliases.
void add_models(api::ModelRegistry& registry, const std::vector<fleet::FleetModel>& models);

// Adds models that are new, or at other servers than before. Any thread.
void update_models(api::ModelRegistry& registry, const std::vector<fleet::FleetModel>& models);

// What /metrics shows of the fleet. Any thread.
std::vector<api::ModelReading> model_readings(const fleet::ServerFleet& fleet);

// RegistryModels: the models of a server by name, for its batches. Thread-safe.
class RegistryModels final : public dispatch::Models {
 public:
  // `registry` outlives it. `unreachable`: no server that could answer can be reached.
  RegistryModels(const api::ModelRegistry& registry, std::function<bool()> unreachable);

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint endpoint,
                                                   std::string_view name) override;
  uint64_t upstreams_of(std::string_view name) override;
  bool is_waited_for(std::string_view name) override;
  std::string unavailable() override;

 private:
  const api::ModelRegistry& registry_;
  const std::function<bool()> unreachable_;
};

}  // namespace windrow::app
