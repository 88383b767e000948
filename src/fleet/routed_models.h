// RoutedModels: the models of an opened JobFleet by name, for work that runs without a server.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dispatch/models.h"
#include "fleet/job_fleet.h"

namespace windrow::fleet {

// Thread-safe. A model that turns out not to answer an endpoint fails the request, not find().
class RoutedModels final : public dispatch::Models {
 public:
  // After open(). `fleet` outlives it.
  explicit RoutedModels(JobFleet& fleet);

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint endpoint,
                                                   std::string_view name) override;
  uint64_t upstreams_of(std::string_view name) override;

 private:
  const std::vector<JobRoute> routes_;
  const std::function<uint64_t(const std::string& model)> upstreams_of_;
};

}  // namespace windrow::fleet
