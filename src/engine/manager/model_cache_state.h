// ModelCacheState: what ModelCachePolicy knows of the models of a server, and what follows from it
// at a given time: which models wait to be loaded, which bytes fit, which models may be evicted for
// which. It changes nothing by itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "llm/model_status.h"

namespace windrow::engine {

// A model of a server: its index in the list that the cache was made of.
using ModelId = Id<struct ModelTag, uint32_t>;

struct ModelNeeds {
  uint64_t bytes = 0;   // estimate of the memory it will use
  bool pinned = false;  // once loaded it stays
};

struct ModelCacheOptions {
  uint64_t bytes_max = 0;  // 0: no limit
  Duration unload_idle{};  // a model that is idle for so long is unloaded; 0: none is

  // How long a model that was just loaded stays while it is used and others wait; at least twice as
  // long as its load took. Also how long a waiting model leaves it to others to become idle.
  Duration turn = std::chrono::seconds(10);

  // A model that is idle for so long may be evicted within its turn.
  Duration rest = std::chrono::seconds(1);

  // A model that clients used within this time is not evicted for a batch.
  Duration clients_rest = std::chrono::minutes(1);

  // How long after a failed load the next one is tried.
  Duration retry_after = std::chrono::seconds(30);
};

class ModelCacheState {
 public:
  struct Model {
    uint64_t bytes = 0;
    bool pinned = false;
    llm::LoadState state = llm::LoadState::kAbsent;
    bool closing = false;           // loaded: no request is admitted, so that it becomes idle
    bool wanted = false;            // its load was requested by other means than a request
    bool unload_requested = false;  // is unloaded as soon as it is idle
    bool being_checked = false;     // absent: kCheck is being done
    bool passed = false;            // absent: the check has found that the file can be loaded
    int32_t inside = 0;
    int32_t waiting = 0;
    int32_t clients_inside = 0;           // part of `inside`
    int32_t clients_waiting = 0;          // part of `waiting`
    std::optional<TimePoint> clients_at;  // when the last request of a client came or ended
    TimePoint asked_at{};  // when the first waiting request came, of clients where they wait
    TimePoint came_at{};   // when its load began, then when it ended
    TimePoint used_at{};   // when the last request came or ended
    Duration load_time{};
    std::optional<TimePoint> refused_until;

    bool is_idle() const { return inside == 0; }
    bool is_queued() const { return waiting > 0 || wanted; }

    // What is wanted without a request is not for a batch.
    bool is_for_clients() const { return clients_waiting > 0 || wanted; }
  };

  ModelCacheState(std::span<const ModelNeeds> models, const ModelCacheOptions& options);

  const ModelCacheOptions& options() const { return options_; }
  size_t size() const { return models_.size(); }
  Model& at(ModelId id) { return models_.at(id.value()); }
  const Model& at(ModelId id) const { return models_.at(id.value()); }

  // A model is being loaded, unloaded or checked.
  bool is_busy() const;

  uint64_t bytes_used() const;

  // Whether so many bytes fit beside the loaded models, without some of them.
  bool fits(uint64_t bytes, std::span<const ModelId> without) const;

  // It does not fit beside the pinned models.
  bool can_never_fit(ModelId id) const;

  // The models that wait to be loaded: those that clients want, then the others; the one that was
  // asked for first in front.
  std::vector<ModelId> queue() const;

  // The models that may be evicted for another one, the first to go in front: idle ones by last
  // use; then used ones whose turn is over, when the other one has waited long enough or is for
  // clients where they are used by batches only. Of the used ones, those that are closing already
  // come first, then the first that was loaded.
  std::vector<ModelId> evictable_for(TimePoint now, ModelId coming) const;

  // All models that a batch may have evicted once they are idle.
  std::vector<ModelId> evictable_for_batches(TimePoint now) const;

  // An idle model that is to be unloaded though no other one needs its room: its unload was
  // requested, or it is idle for too long, or loaded models use more memory than was estimated.
  std::optional<ModelId> to_unload(TimePoint now) const;

  // When one of these answers may change with time alone.
  std::optional<TimePoint> next_change(TimePoint now) const;

 private:
  bool belongs_to_clients(TimePoint now, const Model& model) const;
  Duration turn_of(const Model& model) const;

  const ModelCacheOptions options_;
  std::vector<Model> models_;
};

}  // namespace windrow::engine
