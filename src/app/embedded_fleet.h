// EmbeddedFleet: the models of a job, all of them in this process from its start to its end,
// each with a dispatcher of its own. Those of a server come and go: pooled_fleet.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/model_choice.h"
#include "app/model_fleet.h"
#include "app/open_backend.h"
#include "app/run_summary.h"
#include "app/settings.h"
#include "base/clock.h"
#include "dispatch/dispatcher.h"

namespace windrow::app {

class EmbeddedFleet final : public ModelFleet {
 public:
  // `clock` and `console` outlive it.
  EmbeddedFleet(std::vector<ModelChoice> choices, const Settings& settings, const Clock& clock,
                Console& console)
      : choices_(std::move(choices)), settings_(settings), clock_(clock), console_(console) {}

  boost::json::array description() const override;
  Result<void> open(const FleetOptions& run) override;
  std::span<const batch::ModelRoute> routes() const override { return routes_; }
  std::string note() const override;
  std::optional<llm::Failure> check(const llm::Request& request) const override;
  std::variant<dispatch::Cost, llm::Failure> expected_cost(const llm::Request&) const override {
    return dispatch::Cost{0};
  }
  uint64_t upstreams_of(const std::string&) const override { return 0; }
  std::string runtime() const override;
  std::vector<FleetModel> offered() const override { return {}; }
  std::vector<api::ModelReading> readings() const override { return {}; }
  llm::BackendStats stats() const override { return backends_.stats(); }
  dispatch::DispatchCounts counts() const override;
  std::vector<llm::UpstreamStatus> upstreams() const override { return {}; }

 private:
  const std::vector<ModelChoice> choices_;
  const Settings settings_;
  const Clock& clock_;
  Console& console_;

  // Destroyed from the last to the first: nobody is left without what it stands on.
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::vector<OpenModel> models_;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers_;
  std::vector<batch::ModelRoute> routes_;
  BackendGroup backends_;
};

}  // namespace windrow::app
