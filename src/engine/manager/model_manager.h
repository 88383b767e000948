// ModelManager: the models of a server, which are loaded when they are asked for and unloaded when
// others need the memory. ModelCachePolicy decides, a ModelLoader loads and unloads, WaitingCalls
// holds the calls whose model is not loaded; this class connects the three.
//
// Each model has an llm::Backend that exists whether the model is loaded or not (backend()): it
// passes on the calls that are admitted. So its callers need not know. A waiting call ends when it
// is cancelled (BackendCall's tokens) or has waited as long as it may (BackendCall::load_wait). Its
// prompt is made into tokens when the model's vocabulary is loaded.
//
// Threads: that of the loader, which may take long, and that of WaitingCalls, which hands over
// admitted calls and ends those that waited too long. No other thread waits for either; but a
// device thread that is in a pass delays the unloading of a model with it until that pass ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/manager/model_cache_policy.h"
#include "engine/manager/model_loader.h"
#include "engine/manager/shared_model.h"
#include "engine/manager/waiting_calls.h"
#include "llm/backend.h"

namespace windrow::engine {

struct ModelManagerOptions {
  ModelCacheOptions cache;
  std::function<void(const ModelEvent&)> on_event;  // on the loader's thread; may be empty
};

// Thread-safe. Outlives the users of its backends; then the destructor cancels a load that is
// running, ends the calls that wait and destroys the models, which ends what runs in them.
class ModelManager {
 public:
  // `clock` outlives it.
  ModelManager(std::vector<ManagedModel> models, ModelManagerOptions options, const Clock& clock);
  ~ModelManager();
  ModelManager(const ModelManager&) = delete;
  ModelManager& operator=(const ModelManager&) = delete;

  // Lives as long as the manager.
  llm::Backend& backend(ModelId model);

  // Loads models one after the other and waits. One that turns out not to fit beside those in front
  // of it is left out, or if it is pinned they are evicted. Error: that of the first model that
  // cannot be loaded; the models behind it are not loaded.
  Result<void> load_first(std::span<const ModelId> models);

  // For the operator of the server. None of them waits.
  void load(ModelId model);
  llm::UnloadResult unload(ModelId model);
  void unload_when_unused(ModelId model);  // ModelCachePolicy::unload_when_unused

  llm::ModelStatus status(ModelId model) const;
  uint64_t bytes_used() const;

  // Time has passed. Needed only where the clock is one that does not move by itself.
  void on_clock_advanced();

 private:
  class Handle;
  using Done = llm::Backend::Done;

  struct State {
    explicit State(ManagedModel managed);
    ~State();

    const ManagedModel model;
    SharedModel shared;
    std::unique_ptr<Handle> handle;

    // With the lock:
    std::optional<Error> error;  // of the last load
    TimePoint loading_since{};
    Duration last_load{};
    llm::ModelStatus counts;  // the counters of loads; the policy has the gauges
  };

  State& at(ModelId id) { return states_.at(id.value()); }
  const State& at(ModelId id) const { return states_.at(id.value()); }

  // Without the lock: calls.
  std::variant<int64_t, llm::Failure> count_prompt(ModelId id, const llm::Request& request);
  void submit(ModelId id, llm::BackendCall call, Done done);
  void pass_on(ModelId id, llm::BackendCall call, Done done);
  void ended(ModelId id, Requester requester);
  void cancel(ModelId id, llm::PendingId call);
  void tick();

  // With the lock.
  void apply(TimePoint now, const CacheActions& actions);
  void begin(const CacheAction& action);
  void loaded(ModelId id, ModelLoader::Loaded result);
  void load_failed(ModelId id, const Error& error);
  std::optional<TimePoint> next_tick(TimePoint now) const;
  llm::Failure unavailable(ModelId id) const;
  llm::Failure still_loading(ModelId id) const;

  const ModelManagerOptions options_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a load has ended; while closing: a request has ended
  ModelCachePolicy policy_;
  std::deque<State> states_;
  bool closing_ = false;

  // Last: their threads use all of the above.
  ModelLoader loader_;
  WaitingCalls waiting_;
};

}  // namespace windrow::engine
