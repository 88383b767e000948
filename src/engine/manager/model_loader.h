// ModelLoader: the thread that checks, loads and unloads models, one task after the other, however
// long each takes. It decides nothing and keeps no model: each result goes to the function that
// came with the task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/manager/model_cache_state.h"
#include "engine/manager/shared_model.h"

namespace windrow::engine {

// One model of a server: what it needs, and how it is checked and loaded.
struct ManagedModel {
  std::string name;
  ModelNeeds needs;
  int32_t in_flight_target = 1;  // llm::Backend's, until the model was loaded

  // Whether its file can be loaded, as far as that shows without loading it; errors as `load`.
  // Empty: there is nothing to check.
  std::function<Result<void>()> check = {};

  // May take long, but fails soon after `unwanted` was stopped.
  std::function<Result<std::unique_ptr<LoadedModel>>(std::stop_token unwanted)> load;

  // What clients are told of an error of the two: without what concerns only this machine.
  std::function<std::string(const Error&)> client_message;
};

// For the operator of the server.
struct ModelEvent {
  enum class Kind : uint8_t { kLoading, kLoaded, kFailed, kUnloaded };
  Kind kind = Kind::kLoading;
  std::string name;
  uint64_t bytes = 0;
  Duration took{};
  std::string why;  // kFailed
};

// Thread-safe, but for stop() and the destructor: the owner calls those.
class ModelLoader {
 public:
  struct Loaded {
    std::unique_ptr<LoadedModel> model;
    uint64_t bytes = 0;
    Duration took{};
  };

  // `on_event` may be empty; it is called on the loader's thread, for a result after `done` has
  // returned. `clock` outlives the loader.
  ModelLoader(const Clock& clock, std::function<void(const ModelEvent&)> on_event);

  // As stop().
  ~ModelLoader();

  // Each adds a task and returns. `done` is called on the loader's thread, which holds no lock.
  // `model` and `shared` outlive the loader.
  void check(const ManagedModel& model, std::function<void(const Result<void>&)> done);
  void load(const ManagedModel& model, std::function<void(Result<Loaded>)> done);

  // Frees the model that is in `shared` when its last lease ends. `bytes`: for the event.
  void unload(const ManagedModel& model, SharedModel& shared, uint64_t bytes,
              std::function<void()> done);

  // Cancels a load that is running and waits for the end of the running task. Tasks that have not
  // begun are dropped, without a call of their `done`; on_event is not called any more.
  void stop();

 private:
  void post(async::Executor::Task task);
  void emit(const ModelEvent& event) const;

  const Clock& clock_;
  const std::function<void(const ModelEvent&)> on_event_;
  std::stop_source stop_;
  std::mutex mutex_;
  bool stopping_ = false;

  // Last: its tasks use all of the above.
  async::Executor thread_{1};
};

}  // namespace windrow::engine
