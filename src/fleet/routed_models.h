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

// How a model is named by work that did not name one, for its errors: "name one with --flag NAME".
struct NamingHelp {
  std::string of_chats = "name one";
  std::string of_embeddings = "name one";
};

// Thread-safe. A model that was named and turns out not to answer an endpoint fails the request,
// not find().
//
// Work that names none gets the only model there is; of several in this process the only one that
// answers the endpoint, of several that embed the only one that was made for it; of servers' the
// only one that they list.
class RoutedModels final : public dispatch::Models {
 public:
  // After open(). `fleet` outlives it.
  explicit RoutedModels(JobFleet& fleet, NamingHelp help = {});

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint endpoint,
                                                   std::string_view name) override;
  uint64_t upstreams_of(std::string_view name) override;

 private:
  std::variant<dispatch::Model, llm::Failure> find_unnamed(llm::Endpoint endpoint) const;

  const std::vector<JobRoute> routes_;
  const NamingHelp help_;
  const std::function<uint64_t(const std::string& model)> upstreams_of_;
};

}  // namespace windrow::fleet
