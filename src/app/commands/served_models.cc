#include "app/commands/served_models.h"

#include <fmt/format.h>

#include <utility>

#include "llm/field_values.h"
#include "llm/request_json.h"

namespace windrow::app {
namespace {

api::ServedModel served_model(const fleet::FleetModel& model) {
  return {.name = model.name,
          .dispatcher = model.dispatcher,
          .endpoints = model.endpoints,
          .raw = model.raw,
          .upstreams = model.upstreams,
          .created_unix_s = model.created_unix_s,
          .context_tokens = model.context_tokens,
          .vocabulary_size = model.vocabulary_size,
          .fingerprint = model.fingerprint,
          .owner = model.owner,
          .residence = model.residency,
          .tokenizer = model.tokenizer};
}

}  // namespace

std::vector<api::ModelReading> model_readings(const fleet::ServerFleet& fleet) {
  std::vector<api::ModelReading> readings;
  for (fleet::FleetReading& reading : fleet.readings()) {
    readings.push_back({.name = std::move(reading.name),
                        .stats = reading.stats,
                        .queue = std::move(reading.queue),
                        .dispatch = reading.dispatch,
                        .residence = std::move(reading.model),
                        .upstreams = std::move(reading.upstreams)});
  }
  return readings;
}

void add_models(api::ModelRegistry& registry, const std::vector<fleet::FleetModel>& models) {
  for (const fleet::FleetModel& model : models) {
    registry.add(served_model(model), model.any);
    for (const std::string& alias : model.aliases)
      registry.add_alias(alias, model.name);
  }
}

void update_models(api::ModelRegistry& registry, const std::vector<fleet::FleetModel>& models) {
  for (const fleet::FleetModel& model : models) {
    const api::ServedModel* before = registry.find(model.name);
    const bool same =
        before != nullptr && before->name == model.name && before->upstreams == model.upstreams;
    if (!same) registry.add(served_model(model), model.any);
  }
}

RegistryModels::RegistryModels(const api::ModelRegistry& registry,
                               std::function<bool()> unreachable)
    : registry_(registry), unreachable_(std::move(unreachable)) {}

std::variant<dispatch::Model, llm::Failure> RegistryModels::find(llm::Endpoint endpoint,
                                                                 std::string_view name) {
  const api::ServedModel* model = registry_.find(name);
  if (name.empty() && (model == nullptr || !model->endpoints.contains(endpoint)))
    model = registry_.only_one_for(endpoint);
  if (model == nullptr) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 404,
                        .code = "model_not_found",
                        .message = name.empty()
                                       ? "no model is named, and there are several"
                                       : fmt::format("there is no model \"{}\"", llm::shown(name)),
                        .param = "model"};
  }
  if (!model->endpoints.contains(endpoint)) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 400,
                        .code = "unsupported_by_model",
                        .message = fmt::format("the model {} does not answer {}", model->name,
                                               llm::url_of(endpoint)),
                        .param = "model"};
  }
  return dispatch::Model{.name = model->name, .dispatcher = model->dispatcher, .raw = model->raw};
}

uint64_t RegistryModels::upstreams_of(std::string_view name) {
  const api::ServedModel* model = registry_.find(name);
  return model == nullptr ? 0 : model->upstreams;
}

bool RegistryModels::is_waited_for(std::string_view name) {
  const api::ServedModel* model = registry_.find(name);
  return model != nullptr && model->residence &&
         model->residence->status().state != llm::LoadState::kLoaded;
}

std::string RegistryModels::unavailable() {
  return unreachable_() ? "none of the servers behind this one can be reached" : "";
}

}  // namespace windrow::app
