// LocalServerFleet: the models of a server in this process. They are loaded when they are asked for
// and unloaded when others need the memory; engine::ModelManager decides when. Each model has a
// dispatcher that exists whether the model is loaded or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "engine/host/device_thread.h"
#include "engine/llama/llama_library.h"
#include "engine/manager/model_manager.h"
#include "fleet/fleet_options.h"
#include "fleet/load_model.h"
#include "fleet/model_estimate.h"
#include "fleet/server_fleet.h"
#include "llm/tokenizer.h"

namespace windrow::fleet {

// Which models to load at the start, in the order given: the pinned and the chosen ones, or as many
// as fit. Errors: kInvalid when those that were chosen do not fit together. Pure.
Result<std::vector<engine::ModelId>> models_to_load_first(
    const PoolOptions& pool, std::span<const engine::ModelNeeds> models,
    std::span<const std::string> names, uint64_t memory_bytes);

class LocalServerFleet final : public ServerFleet {
 public:
  // Called once by open(); may block for long, as models may have to be downloaded first.
  using ModelSource = std::function<Result<LocalModels>()>;

  // `clock` and `events` outlive the fleet.
  LocalServerFleet(ModelSource source, LocalFleetOptions options, const Clock& clock,
                   FleetEvents& events);
  ~LocalServerFleet() override;

  // Reads the headers of all models and loads the first ones. Errors: those of the source, of
  // read_model_header, models_to_load_first and ModelManager::load_first.
  Result<void> open(const ServerStart& start) override;

  std::vector<FleetReading> readings() const override;
  bool is_unreachable(uint64_t) const override { return false; }
  upstream::ServerKind server_kind(uint64_t) const override {
    return upstream::ServerKind::kUnknown;
  }
  std::vector<FleetModel> models() const override;
  std::string note() const override { return ""; }
  void watch(std::function<void()>) override {}

 private:
  class Residency;

  const std::vector<ModelChoice>& choices() const { return local_.choices; }
  Result<void> start_library();
  Result<uint64_t> memory_of_devices() const;
  Result<std::vector<ModelEstimate>> estimate_models(uint64_t memory_bytes) const;
  engine::ManagedModel managed_model(size_t index, const LoadOptions& how) const;
  void add_dispatcher(size_t index);
  void report(const engine::ModelEvent& event) const;
  std::string runtime() const;

  const ModelSource source_;
  const LocalFleetOptions options_;
  const Clock& clock_;
  FleetEvents& events_;

  // Set by open(); destroyed from the last to the first.
  LocalModels local_;
  std::vector<std::string> names_;
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::vector<ModelEstimate> estimates_;
  std::vector<std::shared_ptr<llm::LazyTokenizer>> tokenizers_;
  std::unique_ptr<engine::ModelManager> manager_;
  std::vector<std::shared_ptr<Residency>> residencies_;
  std::vector<std::unique_ptr<dispatch::Dispatcher>> dispatchers_;
  std::atomic<bool> opened_ = false;  // then nothing above changes any more
};

}  // namespace windrow::fleet
