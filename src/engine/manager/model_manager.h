// ModelManager: the models of a server that are loaded when they are asked for and leave when
// others need the room. ModelCachePolicy decides; this does what it decides, and holds the requests
// that wait.
//
// Each model has an llm::Backend that is always there (backend()), whether the model is or not: it
// passes on what is let in. So whoever stands in front of it need not know. A call is held with its
// Done, ends when it is cancelled (BackendCall's tokens) or has waited for as long as it may
// (BackendCall::load_wait), and is made into tokens when the model's vocabulary is there.
//
// Threads: one that loads and unloads, however long that takes, and one that hands over those who
// are let in and ends those who waited too long. Nobody else waits for either; but a backend's
// thread that is in a pass keeps the unloading of a model with it waiting, until that pass ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/manager/model_cache_policy.h"
#include "llm/backend.h"
#include "llm/pending_requests.h"

namespace windrow::engine {

// A model that is in memory. It leaves when this is destroyed.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  virtual llm::Backend& backend() = 0;

  // What it takes. It may grow: contexts are made when they are first needed. Any thread.
  virtual uint64_t bytes() const = 0;
};

struct KeptModel {
  std::string name;
  PooledModelFacts facts;
  int32_t in_flight_target = 1;  // Backend's, until the model was there

  // Whether its file can be loaded, as far as that shows without loading it; errors as `load`.
  // Asked before other models leave for it. May be empty: there is nothing to look at.
  std::function<Result<void>()> look = {};

  // Takes as long as it takes, and gives up soon after `unwanted` was stopped.
  std::function<Result<std::unique_ptr<LoadedModel>>(std::stop_token unwanted)> load;

  // As clients are told why it cannot be loaded: without what is only this machine's business.
  std::function<std::string(const Error&)> in_words;
};

// Something worth a line for those who run the server.
struct KeeperNews {
  enum class Kind : uint8_t { kLoading, kLoaded, kFailed, kUnloaded };
  Kind kind = Kind::kLoading;
  std::string name;
  uint64_t bytes = 0;
  Duration took{};
  std::string why;  // kFailed
};

struct KeeperOptions {
  PoolOptions pool;
  std::function<void(const KeeperNews&)> on_news;  // on the thread that loads; may be empty
};

// Thread-safe. Outlives those who use its backends; then the destructor gives up a load that is
// under way, ends what waits and destroys the models, which ends what runs in them.
class ModelManager {
 public:
  // `clock` outlives it.
  ModelManager(std::vector<KeptModel> models, KeeperOptions options, const Clock& clock);
  ~ModelManager();
  ModelManager(const ModelManager&) = delete;
  ModelManager& operator=(const ModelManager&) = delete;

  // Lives as long as the keeper.
  llm::Backend& backend(PooledModelId model);

  // Loads them one after the other and waits. One that turns out not to fit beside those in front
  // of it is left out, or they leave if it is pinned. The first that cannot be loaded ends it, with
  // the reason in full.
  Result<void> load_first(std::span<const PooledModelId> models);

  // For somebody who wants it so. None of them waits.
  void load(PooledModelId model);
  llm::UnloadResult unload(PooledModelId model);
  void unload_when_unused(PooledModelId model);  // ModelCachePolicy::dismiss_when_unused

  llm::ModelStatus status(PooledModelId model) const;
  uint64_t bytes_used() const;

  // Time has passed. Needed only where the clock is one that does not move by itself.
  void look_at_the_clock();

 private:
  class Room;
  using Done = llm::Backend::Done;

  // A call that waits no longer: it is let in, or ends.
  struct Released {
    PooledModelId model;
    llm::PendingRequests::Taken call;
    std::optional<llm::Failure> failure;
  };

  // Of one model; all of it under the lock.
  struct State {
    KeptModel model;
    std::unique_ptr<Room> room;
    std::unique_ptr<LoadedModel> loaded;
    uint64_t times = 0;   // it was loaded: what was read ahead before is known by it
    int32_t readers = 0;  // threads that use `loaded` without being inside
    std::unique_ptr<llm::PendingRequests> pending;  // calls that wait for the model
    int32_t in_flight_target = 1;
    std::optional<Error> error;  // of the last load
    TimePoint loading_since{};
    Duration last_load{};
    llm::ModelStatus counts;  // the counters of loads; the policy has the gauges
    llm::BackendStats gone;   // of the times before
  };

  // --- what rooms do ---
  std::shared_ptr<const llm::ReadAhead> read_ahead(PooledModelId id, const llm::Request& request);
  std::variant<int64_t, llm::Failure> count_prompt(PooledModelId id, const llm::Request& request);
  void submit(PooledModelId id, llm::BackendCall call, Done done);
  int32_t in_flight_target(PooledModelId id) const;
  llm::BackendStats stats(PooledModelId id) const;

  // --- with the lock ---
  State& at(PooledModelId id) { return states_.at(id.value()); }
  const State& at(PooledModelId id) const { return states_.at(id.value()); }
  void note(const PoolActions& actions);
  void stop_waiting(PooledModelId id, const llm::PendingRequests::Taken& call);
  void release_all(PooledModelId id, const std::optional<llm::Failure>& failure);
  void release_late(TimePoint now);
  std::optional<TimePoint> next_at(TimePoint now) const;
  bool is_used() const;
  llm::Failure unavailable(PooledModelId id, TimePoint now) const;
  llm::Failure still_loading(PooledModelId id, TimePoint now) const;
  llm::Backend* use(PooledModelId id);

  // --- without ---
  static void set_waits(const llm::BackendCall& call, bool waits);
  void stop_using(PooledModelId id);
  void pass_on(PooledModelId id, llm::BackendCall call, Done done);
  void ended(PooledModelId id, Requester asker);
  void cancel(PooledModelId id, llm::PendingId call);
  void look_after();
  void fetch_and_carry();
  void look_at_one(PooledModelId id, std::unique_lock<std::mutex>& lock);
  void load_one(PooledModelId id, std::unique_lock<std::mutex>& lock);
  void unload_one(PooledModelId id, std::unique_lock<std::mutex>& lock);
  KeeperNews failed(PooledModelId id, const Error& error);  // with the lock
  void tell(const KeeperNews& news) const;

  const KeeperOptions options_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable errand_came_;    // for the thread that loads
  std::condition_variable released_came_;  // wakes the thread that admits waiting requests
  std::condition_variable changed_;  // a model came, left or failed; nobody reads in it any more
  ModelCachePolicy pool_;
  std::vector<State> states_;
  std::deque<PoolAction> errands_;  // looks, loads and unloads
  std::deque<Released> released_;
  bool news_ = false;  // wakes the thread that admits waiting requests
  std::optional<TimePoint> sleeps_until_;
  bool closing_ = false;       // nothing more is loaded
  bool released_all_ = false;  // nothing more will be released
  std::stop_source unwanted_;  // what is being loaded

  // Last: they use all of the above.
  std::jthread carrier_;
  std::jthread caretaker_;
};

}  // namespace windrow::engine
