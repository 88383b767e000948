#include "fleet/routed_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "llm/field_values.h"

namespace windrow::fleet {
namespace {

dispatch::Model model_of(const JobRoute& route, std::string_view name) {
  return {.name = std::string(name), .dispatcher = route.dispatcher, .raw = route.raw};
}

llm::Failure not_found(std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "model_not_found",
          .message = std::move(message),
          .param = "model"};
}

// The models that work without a name could mean at this endpoint.
std::vector<const JobRoute*> meant_by_none(const std::vector<JobRoute>& routes,
                                           llm::Endpoint endpoint) {
  std::vector<const JobRoute*> meant;
  for (const JobRoute& route : routes) {
    if (route.endpoints.contains(endpoint)) meant.push_back(&route);
  }
  // Models that chat give vectors as well, but not to compare texts by.
  const auto embeds_first = [](const JobRoute* route) { return route->embeds_first; };
  if (endpoint == llm::Endpoint::kEmbeddings && std::ranges::any_of(meant, embeds_first))
    std::erase_if(meant, [&](const JobRoute* route) { return !embeds_first(route); });
  return meant;
}

}  // namespace

RoutedModels::RoutedModels(JobFleet& fleet, NamingHelp help)
    : routes_(fleet.routes()), help_(std::move(help)), upstreams_of_(fleet.hooks().upstreams_of) {}

std::variant<dispatch::Model, llm::Failure> RoutedModels::find(llm::Endpoint endpoint,
                                                               std::string_view name) {
  if (name.empty()) return find_unnamed(endpoint);
  if (routes_.size() == 1) {
    const JobRoute& only = routes_.front();
    return model_of(only, only.raw ? name : std::string_view(only.model));
  }
  const auto named = std::ranges::find(routes_, name, &JobRoute::model);
  if (named != routes_.end()) return model_of(*named, named->model);
  return not_found(fmt::format("there is no model \"{}\"", llm::shown(name)));
}

std::variant<dispatch::Model, llm::Failure> RoutedModels::find_unnamed(
    llm::Endpoint endpoint) const {
  const std::string& help =
      endpoint == llm::Endpoint::kEmbeddings ? help_.of_embeddings : help_.of_chats;
  const JobRoute& first = routes_.front();
  if (first.raw) {
    if (first.listed.size() == 1) return model_of(first, first.listed.front());
    if (first.listed.empty())
      return not_found(fmt::format("no model is named, and the servers list none; {}", help));
    return not_found(fmt::format("no model is named, and the servers list {}; {}",
                                 fmt::join(first.listed, ", "), help));
  }
  if (routes_.size() == 1) return model_of(first, first.model);
  const std::vector<const JobRoute*> meant = meant_by_none(routes_, endpoint);
  if (meant.size() == 1) return model_of(*meant.front(), meant.front()->model);
  std::vector<std::string_view> names;
  for (const JobRoute* route : meant)
    names.push_back(route->model);
  if (names.empty()) {
    return not_found(fmt::format("no model is named, and none of several answers {}; {}",
                                 llm::url_of(endpoint), help));
  }
  return not_found(fmt::format("no model is named, and {} answer {}; {}", fmt::join(names, ", "),
                               llm::url_of(endpoint), help));
}

uint64_t RoutedModels::upstreams_of(std::string_view name) {
  return upstreams_of_ ? upstreams_of_(std::string(name)) : 0;
}

}  // namespace windrow::fleet
