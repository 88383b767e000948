// ModelCachePolicy: which models of a server are in memory when there is not room for all. Pure:
// it is told of events, and says which model is checked, loaded or unloaded, and whose waiting
// requests are admitted or refused.
//
// A model that is not loaded and gets a request is loaded as soon as there is room. To make room,
// idle models are evicted, the least recently used first. Where all models are used, the request
// waits; after a while a model that has had its turn admits no more requests, finishes those it
// has, is evicted, and queues itself for the requests that came meanwhile. That is least-recently-
// used caching with the time slices of a scheduler on top: two models that are always asked for and
// fit only one at a time take turns that are long compared with what a change costs.
//
// Before models are evicted for another one, that one's file is checked: a file that cannot be used
// evicts none.
//
// Requests of batches are background work: no model is evicted for them that clients used lately,
// and a model that only batches use is evicted for one that a client wants as soon as its requests
// have ended, whatever is left of its turn.
//
// Invariants:
// * The models that are loaded, being loaded or being unloaded are within bytes_max together, or
//   are one model alone. (A model may use more than was estimated; then none is loaded and idle
//   models are unloaded until the invariant holds again.)
// * A model is unloaded only when no request is inside it, and never when it is pinned.
// * A model is evicted for another one only after the check of that one's file has passed.
// * Models are loaded in the order in which they were first asked for, those that clients want
//   before others; a later one overtakes only where no used model has to be evicted for it, and
//   only until the first one has waited for a turn. So a client's wait is bounded by turns, answers
//   and loads, however busy the other models are; that of a batch is not.
// * At most one model at a time is being loaded, unloaded or checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/manager/model_cache_state.h"
#include "llm/model_status.h"

namespace windrow::engine {

struct CacheAction {
  enum class Kind : uint8_t {
    kCheck,   // whether the file can be loaded, without loading it; then checked() or load_failed()
    kLoad,    // then loaded() or load_failed()
    kUnload,  // then unloaded()
    kAdmit,   // all requests that wait for the model; they count as inside
    kRefuse,  // all requests that wait for the model; they count no more
  };
  Kind kind = Kind::kLoad;
  ModelId model;

  friend bool operator==(const CacheAction&, const CacheAction&) = default;
};
using CacheActions = std::vector<CacheAction>;

// Where a request comes from.
enum class Requester : uint8_t { kClient, kBatch };

// What becomes of a request that comes.
enum class Admission : uint8_t { kAdmitted, kWaits, kRefused };

// The models to load at the start when none were chosen: those that are pinned, and in the order
// given as many others as fit beside them; at least one.
std::vector<ModelId> default_first_models(std::span<const ModelNeeds> models, uint64_t bytes_max);

// Used by one thread at a time. Every event appends what is to be done; time never goes back.
class ModelCachePolicy {
 public:
  ModelCachePolicy(std::span<const ModelNeeds> models, const ModelCacheOptions& options)
      : state_(models, options) {}

  // A request comes; an admitted one has ended; a waiting one was cancelled or has waited too long.
  Admission arrive(TimePoint now, ModelId model, Requester requester, CacheActions& actions);
  void end(TimePoint now, ModelId model, Requester requester, CacheActions& actions);
  void stop_waiting(TimePoint now, ModelId model, Requester requester, CacheActions& actions);

  // No request waits any more and no model is wanted: the server ends. Decides nothing.
  void forget_waiting();

  // The results of kCheck, kLoad and kUnload. `bytes`: the memory that the model uses.
  void checked(TimePoint now, ModelId model, CacheActions& actions);
  void loaded(TimePoint now, ModelId model, uint64_t bytes, CacheActions& actions);
  void load_failed(TimePoint now, ModelId model, CacheActions& actions);
  void unloaded(TimePoint now, ModelId model, CacheActions& actions);

  // The memory that the model uses by now.
  void grew(TimePoint now, ModelId model, uint64_t bytes, CacheActions& actions);

  // The model is needed by a caller that does not wait for it. kRefused after a failed load, or
  // where the model cannot fit; else kWaits, and it is loaded as request_load has it.
  Admission try_request_load(TimePoint now, ModelId model, CacheActions& actions);

  // The operator of the server wants the model loaded, or unloaded.
  void request_load(TimePoint now, ModelId model, CacheActions& actions);
  llm::UnloadResult request_unload(TimePoint now, ModelId model, CacheActions& actions);

  // Unloads a model as soon as no request is inside it. A request that comes before that keeps it;
  // those that are inside already do not. A pinned model stays.
  void unload_when_unused(TimePoint now, ModelId model, CacheActions& actions);

  // Time has passed: to be called at next_at() if no event comes before; absent: not needed.
  void tick(TimePoint now, CacheActions& actions) { decide(now, actions); }
  std::optional<TimePoint> next_at(TimePoint now) const;

  // Whether it can never be loaded beside the pinned models.
  bool can_never_fit(ModelId model) const { return state_.can_never_fit(model); }

  // The gauges of a model; its counters of loads stay 0.
  llm::ModelStatus status(ModelId model) const;

  // After a failed load requests are refused until then.
  std::optional<TimePoint> refused_until(ModelId model) const {
    return state_.at(model).refused_until;
  }

  uint64_t bytes_used() const { return state_.bytes_used(); }

 private:
  using Model = ModelCacheState::Model;

  void decide(TimePoint now, CacheActions& actions);
  void forget_checks();
  bool make_room(ModelId coming, std::span<const ModelId> evictable, CacheActions& actions);
  void reopen(std::span<const ModelId> except, CacheActions& actions);
  void admit_all(ModelId id, CacheActions& actions);
  void refuse_all(ModelId id, CacheActions& actions);
  void load(TimePoint now, ModelId id, CacheActions& actions);
  void unload(ModelId id, CacheActions& actions);

  ModelCacheState state_;
};

}  // namespace windrow::engine
