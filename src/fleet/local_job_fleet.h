// LocalJobFleet: the models of a job, all in memory from its start to its end, each with a
// dispatcher of its own. The models of a server are loaded on request: local_server_fleet.h.
//
// It is not a pool in which all models are pinned: contexts are opened for the endpoints that rows
// ask for, and sized by the memory that is free after the models before; the dispatcher fills what
// the model itself says keeps it busy; --strict asks the model for the tokens of each row.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet_options.h"
#include "fleet/job_fleet.h"
#include "fleet/job_models.h"

namespace windrow::fleet {

class LocalJobFleet final : public JobFleet {
 public:
  // At least one choice. `clock` and `events` outlive the fleet.
  LocalJobFleet(std::vector<ModelChoice> choices, LocalFleetOptions options, const Clock& clock,
                FleetEvents& events);

  Result<void> open(const JobStart& start) override;
  llm::BackendStats stats() const override { return models_.stats(); }
  dispatch::DispatchCounts counts() const override;
  std::vector<llm::UpstreamStatus> upstreams() override { return {}; }
  std::vector<JobRoute> routes() const override;
  JobHooks hooks() override;
  std::string note() const override;
  std::string runtime() const override { return models_.runtime(); }
  std::optional<Error> final_error() override { return std::nullopt; }
  std::vector<std::string> final_notes() const override { return {}; }

 private:
  const std::vector<ModelChoice> choices_;
  const LocalFleetOptions options_;
  const Clock& clock_;
  FleetEvents& events_;

  // Destroyed from the last to the first.
  JobModels models_;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers_;
};

}  // namespace windrow::fleet
