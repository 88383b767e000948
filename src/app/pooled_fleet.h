// PooledFleet: models in the process of a server, which are loaded when they are asked for and
// leave when others need the memory. Each has a dispatcher that is always there, in front of its
// place in an engine::ModelManager.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/model_choice.h"
#include "app/model_fleet.h"
#include "app/open_backend.h"
#include "app/pool_choice.h"
#include "app/settings.h"
#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "engine/host/device_thread.h"
#include "engine/manager/model_manager.h"

namespace windrow::app {

class PooledFleet final : public ModelFleet {
 public:
  // `chosen`, `clock` and `console` outlive it; `chosen` may change until open().
  PooledFleet(const std::vector<ModelChoice>& chosen, const Settings& settings, const Clock& clock,
              Console& console);
  ~PooledFleet() override;

  boost::json::array description() const override;

  // Reads what the files say of themselves and loads the models of the start.
  Result<void> open(const FleetOptions& run) override;

  std::span<const batch::ModelRoute> routes() const override { return routes_; }
  std::string note() const override { return ""; }
  std::optional<llm::Failure> check(const llm::Request&) const override { return std::nullopt; }
  std::variant<dispatch::Cost, llm::Failure> expected_cost(const llm::Request&) const override {
    return dispatch::Cost{0};
  }
  uint64_t upstreams_of(const std::string&) const override { return 0; }
  std::string runtime() const override;
  std::vector<FleetModel> offered() const override;
  std::vector<api::ModelReading> readings() const override;
  llm::BackendStats stats() const override;
  dispatch::DispatchCounts counts() const override;
  std::vector<llm::UpstreamStatus> upstreams() const override { return {}; }

 private:
  class Place;

  // What can be known of each before it is loaded.
  Result<std::vector<ModelEstimate>> look_out(uint64_t memory_bytes) const;
  uint64_t memory_of_device() const;
  engine::KeptModel kept_model(size_t index, const ModelEstimate& outlook, bool pinned,
                               const LoadOptions& how) const;
  void say(const engine::KeeperNews& news) const;

  const std::vector<ModelChoice>& chosen_;
  std::vector<ModelChoice> choices_;  // from open() on
  const Settings settings_;
  const Clock& clock_;
  Console& console_;

  // Destroyed from the last to the first: nobody is left without what it stands on.
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::vector<ModelEstimate> outlooks_;
  std::shared_ptr<engine::DeviceThread> thread_;
  std::unique_ptr<engine::ModelManager> keeper_;
  std::vector<std::shared_ptr<Place>> places_;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers_;
  std::vector<batch::ModelRoute> routes_;
  std::atomic<bool> opened_ = false;  // then the lists above change no more
};

}  // namespace windrow::app
