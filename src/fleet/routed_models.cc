#include "fleet/routed_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/field_values.h"

namespace windrow::fleet {

RoutedModels::RoutedModels(JobFleet& fleet)
    : routes_(fleet.routes()), upstreams_of_(fleet.hooks().upstreams_of) {}

std::variant<dispatch::Model, llm::Failure> RoutedModels::find(llm::Endpoint /*endpoint*/,
                                                               std::string_view name) {
  auto route = std::ranges::find(routes_, name, &JobRoute::model);
  if (routes_.size() == 1) route = routes_.begin();
  if (route == routes_.end()) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 404,
                        .code = "model_not_found",
                        .message = name.empty()
                                       ? "no model is named, and there are several"
                                       : fmt::format("there is no model \"{}\"", llm::shown(name)),
                        .param = "model"};
  }
  return dispatch::Model{.name = route->raw ? std::string(name) : route->model,
                         .dispatcher = route->dispatcher,
                         .raw = route->raw};
}

uint64_t RoutedModels::upstreams_of(std::string_view name) {
  return upstreams_of_ ? upstreams_of_(std::string(name)) : 0;
}

}  // namespace windrow::fleet
