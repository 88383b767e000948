// ModelCachePolicy: which models of a server are in memory when there is not room for all. Pure: it
// is told what happens, and says which model is to be loaded or unloaded, whose requests are let in
// and whose are refused.
//
// A model that is asked for and not there is loaded as soon as there is room. To make room, models
// that nobody uses leave, the one that was used longest ago first. Where all are used, who asks
// waits; after a while a model that has had its turn takes no more requests, ends those it has,
// leaves, and is itself in line for those who came meanwhile. That is least-recently-used caching
// with the time slices of a scheduler behind it: two models that are always asked for and fit only
// one at a time take turns that are long against what a change costs.
//
// Before models leave for another one, that one's file is looked at: a file that cannot be used
// unloads nobody.
//
// Rows of batches are background: for them no model leaves that clients asked lately, and a model
// that only they use leaves for a client's as soon as its rows have ended, turn or not.
//
// Invariants:
// * What is in memory, on its way in or on its way out is within bytes_max together, or is one
//   model alone. (A model may turn out larger than was thought; then nothing comes in and models
//   that nobody uses leave until it is so again.)
// * A model leaves only when no request is inside it, and never when it is pinned.
// * A model leaves for another one only after the look at that one's file has passed.
// * Models come in the order in which they were first asked for, those that clients ask for before
//   others; a later one overtakes only where no used model has to leave for it, and only until the
//   one in front has waited for a turn. So every client's wait is bounded by turns, answers and
//   loads, however busy the others are; that of a batch is not.
// * At most one model is on its way, in or out, or looked at, at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "llm/model_status.h"

namespace windrow::engine {

// Its place in the list the pool was made of.
using PooledModelId = Id<struct PooledModelTag, uint32_t>;

struct PooledModelFacts {
  uint64_t bytes = 0;   // what it is likely to need
  bool pinned = false;  // once loaded it stays
};

struct PoolOptions {
  uint64_t bytes_max = 0;  // 0: no limit
  Duration unload_idle{};  // who is not used for so long leaves; 0: nobody does for that

  // How long who came last keeps its place while it is used, though others wait; at least twice
  // as long as it took to come. And how long those who wait leave it to others to end by
  // themselves.
  Duration turn = std::chrono::seconds(10);

  // Within its turn one that was not used for so long may leave, too.
  Duration rest = std::chrono::seconds(1);

  // What clients asked for within this time leaves for no batch.
  Duration clients_rest = std::chrono::minutes(1);

  // One that could not be loaded is not tried again before.
  Duration retry_after = std::chrono::seconds(30);
};

struct PoolAction {
  enum class Kind : uint8_t {
    kLook,    // whether its file can be loaded, without loading it; then looked() or load_failed()
    kLoad,    // then loaded() or load_failed()
    kUnload,  // then unloaded()
    kLetIn,   // all that wait for it: they are inside now
    kRefuse,  // all that wait for it; they do not any more
  };
  Kind kind = Kind::kLoad;
  PooledModelId model;

  friend bool operator==(const PoolAction&, const PoolAction&) = default;
};
using PoolActions = std::vector<PoolAction>;

// On whose behalf a request comes.
enum class Requester : uint8_t { kClient, kBatch };

// What becomes of a request that comes.
enum class Arrival : uint8_t { kInside, kWaits, kRefused };

// Which of the models to load at the start when nobody said which: those that are pinned, and in
// the order given as many others as fit beside them; at least one.
std::vector<PooledModelId> models_of_the_start(std::span<const PooledModelFacts> models,
                                               uint64_t bytes_max);

// Used by one thread at a time. Every event appends what is to be done; time never goes back.
class ModelCachePolicy {
 public:
  ModelCachePolicy(std::span<const PooledModelFacts> models, const PoolOptions& options);

  // A request comes; one that is inside has ended; one that waits does not any more.
  Arrival arrive(TimePoint now, PooledModelId model, Requester asker, PoolActions& actions);
  void end(TimePoint now, PooledModelId model, Requester asker, PoolActions& actions);
  void leave(TimePoint now, PooledModelId model, Requester asker, PoolActions& actions);

  // What came of kLook, kLoad and kUnload. `bytes`: what it really needs.
  void looked(TimePoint now, PooledModelId model, PoolActions& actions);
  void loaded(TimePoint now, PooledModelId model, uint64_t bytes, PoolActions& actions);
  void load_failed(TimePoint now, PooledModelId model, PoolActions& actions);
  void unloaded(TimePoint now, PooledModelId model, PoolActions& actions);

  // It needs so much by now.
  void grew(TimePoint now, PooledModelId model, uint64_t bytes, PoolActions& actions);

  // Somebody asks what it needs to be there for and does not wait; never kInside.
  Arrival ask(TimePoint now, PooledModelId model, PoolActions& actions);

  // Somebody who runs the server wants it loaded, or unloaded.
  void want(TimePoint now, PooledModelId model, PoolActions& actions);
  llm::UnloadResult dismiss(TimePoint now, PooledModelId model, PoolActions& actions);

  // A model that is loaded leaves as soon as no request is inside it. A request that comes before
  // that keeps it; those that are inside already do not. A pinned model stays.
  void dismiss_when_unused(TimePoint now, PooledModelId model, PoolActions& actions);

  // Time has passed: to be told at next_at() if nothing happens before; absent: not needed.
  void tick(TimePoint now, PoolActions& actions) { decide(now, actions); }
  std::optional<TimePoint> next_at(TimePoint now) const;

  // Whether it can never be beside those that are pinned.
  bool has_no_place(PooledModelId model) const;

  // The gauges of a model; its counters of loads stay 0.
  llm::ModelStatus status(PooledModelId model) const;

  // After a failed load requests are refused until then.
  std::optional<TimePoint> refused_until(PooledModelId model) const {
    return at(model).refused_until;
  }

  uint64_t bytes_used() const;
  size_t size() const { return models_.size(); }

 private:
  struct Model {
    uint64_t bytes = 0;
    bool pinned = false;
    llm::LoadState state = llm::LoadState::kAbsent;
    bool closing = false;    // loaded: nobody is let in any more, so that it can leave
    bool wanted = false;     // without a request
    bool dismissed = false;  // is to leave when nobody uses it
    bool looked_at = false;  // absent: kLook is being done
    bool passed = false;     // absent: it was, and the file can be loaded
    int32_t inside = 0;
    int32_t waiting = 0;
    int32_t clients_inside = 0;           // of `inside`
    int32_t clients_waiting = 0;          // of `waiting`
    std::optional<TimePoint> clients_at;  // when the last request of a client came or ended
    TimePoint asked_at{};  // when the first of those who wait came; where clients do, of them
    TimePoint came_at{};   // when loading began, then when it was there
    TimePoint used_at{};   // when the last request came or ended
    Duration load_time{};
    std::optional<TimePoint> refused_until;
  };

  Model& at(PooledModelId id) { return models_.at(id.value()); }
  const Model& at(PooledModelId id) const { return models_.at(id.value()); }

  void decide(TimePoint now, PoolActions& actions);
  void forget_looks();
  bool make_room(PooledModelId coming, std::span<const PooledModelId> may_leave,
                 PoolActions& actions);
  void reopen(std::span<const PooledModelId> but, PoolActions& actions);
  void unload_resting(TimePoint now, PoolActions& actions);
  void load(TimePoint now, PooledModelId id, PoolActions& actions);
  void unload(PooledModelId id, PoolActions& actions);
  void refuse(PooledModelId id, PoolActions& actions);

  std::vector<PooledModelId> line() const;
  std::vector<PooledModelId> who_may_leave(TimePoint now, PooledModelId coming) const;
  std::vector<PooledModelId> all_but_clients(TimePoint now) const;
  bool fits(uint64_t bytes, std::span<const PooledModelId> without) const;
  bool in_line(const Model& model) const;
  bool is_for_clients(const Model& model) const;
  bool belongs_to_clients(TimePoint now, const Model& model) const;
  void let_in(PooledModelId id, PoolActions& actions);
  bool is_over(TimePoint now, const Model& model) const;
  Duration turn_of(const Model& model) const;
  bool is_on_its_way() const;

  const PoolOptions options_;
  std::vector<Model> models_;
};

}  // namespace windrow::engine
