#include "engine/manager/model_cache_policy.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// A turn is so many times as long as it took to load the model.
constexpr int kTurnLoads = 2;

}  // namespace

std::vector<PooledModelId> models_of_the_start(std::span<const PooledModelFacts> models,
                                               uint64_t bytes_max) {
  uint64_t bytes = 0;
  for (const PooledModelFacts& model : models)
    bytes += model.pinned ? model.bytes : 0;
  std::vector<PooledModelId> chosen;
  bool any = std::ranges::any_of(models, &PooledModelFacts::pinned);
  for (uint32_t i = 0; i < models.size(); ++i) {
    const PooledModelFacts& model = models[i];
    if (!model.pinned) {
      const bool fits = bytes_max == 0 || !any || bytes + model.bytes <= bytes_max;
      if (!fits) continue;
      bytes += model.bytes;
      any = true;
    }
    chosen.emplace_back(i);
  }
  return chosen;
}

ModelCachePolicy::ModelCachePolicy(std::span<const PooledModelFacts> models,
                                   const PoolOptions& options)
    : options_(options) {
  for (const PooledModelFacts& model : models)
    models_.push_back({.bytes = model.bytes, .pinned = model.pinned});
}

// --- events -------------------------------------------------------------------------------------

Arrival ModelCachePolicy::arrive(TimePoint now, PooledModelId id, Requester asker,
                                 PoolActions& actions) {
  Model& model = at(id);
  const bool client = asker == Requester::kClient;
  model.used_at = now;
  if (client) model.clients_at = now;
  model.dismissed = false;
  if (model.state == llm::LoadState::kLoaded && !model.closing) {
    ++model.inside;
    model.clients_inside += client ? 1 : 0;
    return Arrival::kInside;
  }
  if (model.state == llm::LoadState::kAbsent) {
    if (model.refused_until && now < *model.refused_until) return Arrival::kRefused;
    if (has_no_place(id)) return Arrival::kRefused;
  }
  if (!in_line(model) || (client && !is_for_clients(model))) model.asked_at = now;
  ++model.waiting;
  model.clients_waiting += client ? 1 : 0;
  decide(now, actions);
  return Arrival::kWaits;
}

void ModelCachePolicy::end(TimePoint now, PooledModelId id, Requester asker, PoolActions& actions) {
  Model& model = at(id);
  const bool client = asker == Requester::kClient;
  ENSURE(model.inside > 0 && (!client || model.clients_inside > 0),
         "a request of model {} ends and none is inside", id.value());
  --model.inside;
  model.used_at = now;
  if (client) {
    --model.clients_inside;
    model.clients_at = now;
  }
  if (model.inside == 0) decide(now, actions);
}

void ModelCachePolicy::leave(TimePoint now, PooledModelId id, Requester asker,
                             PoolActions& actions) {
  Model& model = at(id);
  const bool client = asker == Requester::kClient;
  ENSURE(model.waiting > 0 && (!client || model.clients_waiting > 0),
         "a request leaves model {} and none waits", id.value());
  --model.waiting;
  model.clients_waiting -= client ? 1 : 0;
  if (model.waiting == 0 || (client && !is_for_clients(model))) decide(now, actions);
}

void ModelCachePolicy::looked(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  ENSURE(model.looked_at, "model {} passed and was not looked at", id.value());
  model.looked_at = false;
  model.passed = true;
  decide(now, actions);
}

void ModelCachePolicy::loaded(TimePoint now, PooledModelId id, uint64_t bytes,
                              PoolActions& actions) {
  Model& model = at(id);
  ENSURE(model.state == llm::LoadState::kLoading, "model {} is there and was not loaded",
         id.value());
  model.state = llm::LoadState::kLoaded;
  model.bytes = bytes;
  model.load_time = now - model.came_at;
  model.came_at = now;
  model.used_at = now;
  model.wanted = false;
  model.refused_until.reset();
  let_in(id, actions);
  decide(now, actions);
}

void ModelCachePolicy::load_failed(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  ENSURE(model.state == llm::LoadState::kLoading || model.looked_at,
         "model {} failed and was neither loaded nor looked at", id.value());
  model.state = llm::LoadState::kAbsent;
  model.looked_at = false;
  model.passed = false;
  model.refused_until = now + options_.retry_after;
  refuse(id, actions);
  decide(now, actions);
}

void ModelCachePolicy::unloaded(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  ENSURE(model.state == llm::LoadState::kUnloading, "model {} is gone and was not unloaded",
         id.value());
  model.state = llm::LoadState::kAbsent;
  decide(now, actions);
}

void ModelCachePolicy::grew(TimePoint now, PooledModelId id, uint64_t bytes, PoolActions& actions) {
  Model& model = at(id);
  if (model.state != llm::LoadState::kLoaded || model.bytes == bytes) return;
  model.bytes = bytes;
  decide(now, actions);
}

Arrival ModelCachePolicy::ask(TimePoint now, PooledModelId id, PoolActions& actions) {
  const Model& model = at(id);
  const bool failed = model.refused_until && now < *model.refused_until;
  if (model.state == llm::LoadState::kAbsent && (failed || has_no_place(id)))
    return Arrival::kRefused;
  want(now, id, actions);
  return Arrival::kWaits;
}

void ModelCachePolicy::want(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  model.dismissed = false;
  if (model.state == llm::LoadState::kLoaded || model.state == llm::LoadState::kLoading) return;
  if (!is_for_clients(model)) model.asked_at = now;
  model.clients_at = now;
  model.wanted = true;
  model.refused_until.reset();
  decide(now, actions);
}

llm::UnloadResult ModelCachePolicy::dismiss(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  if (model.pinned) return llm::UnloadResult::kPinned;
  if (model.inside + model.waiting > 0) return llm::UnloadResult::kInUse;
  model.wanted = false;
  const bool absent = model.state == llm::LoadState::kAbsent;
  model.dismissed = !absent;
  decide(now, actions);
  return absent ? llm::UnloadResult::kAbsent : llm::UnloadResult::kUnloading;
}

void ModelCachePolicy::dismiss_when_unused(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  if (model.pinned || model.state != llm::LoadState::kLoaded || model.waiting > 0) return;
  model.dismissed = true;
  if (model.inside == 0) decide(now, actions);
}

// --- what is known ------------------------------------------------------------------------------

bool ModelCachePolicy::in_line(const Model& model) const {
  return model.waiting > 0 || model.wanted;
}

// Who wants it loaded without a request is nobody's batch.
bool ModelCachePolicy::is_for_clients(const Model& model) const {
  return model.clients_waiting > 0 || model.wanted;
}

bool ModelCachePolicy::belongs_to_clients(TimePoint now, const Model& model) const {
  return model.clients_inside > 0 ||
         (model.clients_at && now - *model.clients_at < options_.clients_rest);
}

bool ModelCachePolicy::is_on_its_way() const {
  return std::ranges::any_of(models_, [](const Model& model) {
    return model.state == llm::LoadState::kLoading || model.state == llm::LoadState::kUnloading ||
           model.looked_at;
  });
}

Duration ModelCachePolicy::turn_of(const Model& model) const {
  return std::max(options_.turn, kTurnLoads * model.load_time);
}

bool ModelCachePolicy::is_over(TimePoint now, const Model& model) const {
  return now - model.came_at >= turn_of(model);
}

uint64_t ModelCachePolicy::bytes_used() const {
  uint64_t bytes = 0;
  for (const Model& model : models_)
    bytes += model.state == llm::LoadState::kAbsent ? 0 : model.bytes;
  return bytes;
}

bool ModelCachePolicy::has_no_place(PooledModelId id) const {
  if (options_.bytes_max == 0) return false;
  uint64_t bytes = at(id).bytes;
  bool others = false;
  for (const Model& model : models_) {
    if (!model.pinned || &model == &at(id)) continue;
    bytes += model.bytes;
    others = true;
  }
  return others && bytes > options_.bytes_max;
}

// Whether so many bytes fit beside what is there, once some of it has left.
bool ModelCachePolicy::fits(uint64_t bytes, std::span<const PooledModelId> without) const {
  if (options_.bytes_max == 0) return true;
  uint64_t used = 0;
  bool alone = true;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    if (models_[i].state == llm::LoadState::kAbsent) continue;
    if (std::ranges::find(without, PooledModelId(i)) != without.end()) continue;
    used += models_[i].bytes;
    alone = false;
  }
  return alone || used + bytes <= options_.bytes_max;
}

// Who waits to come in: those that clients ask for, then the others; the first to be asked for in
// front.
std::vector<PooledModelId> ModelCachePolicy::line() const {
  std::vector<PooledModelId> line;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    if (models_[i].state == llm::LoadState::kAbsent && in_line(models_[i])) line.emplace_back(i);
  }
  std::ranges::sort(line, {}, [this](PooledModelId id) {
    return std::tuple(!is_for_clients(at(id)), at(id).asked_at, id);
  });
  return line;
}

// In the order in which they should: those nobody uses by when that was, then those in use (when
// who comes has waited for long enough, or for a client where only batches use them) by when they
// came, whose turn is over; who was told to leave already before others.
std::vector<PooledModelId> ModelCachePolicy::who_may_leave(TimePoint now,
                                                           PooledModelId coming) const {
  const bool for_clients = is_for_clients(at(coming));
  const bool patient = now - at(coming).asked_at >= options_.turn;
  std::vector<PooledModelId> unused;
  std::vector<PooledModelId> used;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state != llm::LoadState::kLoaded || model.pinned) continue;
    const bool of_clients = belongs_to_clients(now, model);
    if (of_clients && !for_clients) continue;
    const bool yields = for_clients && !of_clients;
    const bool over = yields || is_over(now, model);
    const bool rests = model.closing || model.dismissed || now - model.used_at >= options_.rest;
    if (model.inside == 0 && (over || rests)) {
      unused.emplace_back(i);
    } else if ((patient || yields) && over) {
      used.emplace_back(i);
    }
  }
  std::ranges::sort(unused, {}, [this](PooledModelId id) { return std::pair(at(id).used_at, id); });
  std::ranges::sort(used, {}, [&](PooledModelId id) {
    return std::tuple(belongs_to_clients(now, at(id)), !at(id).closing, at(id).came_at, id);
  });
  std::ranges::copy(used, std::back_inserter(unused));
  return unused;
}

std::vector<PooledModelId> ModelCachePolicy::all_but_clients(TimePoint now) const {
  std::vector<PooledModelId> all;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state == llm::LoadState::kLoaded && !model.pinned && !belongs_to_clients(now, model))
      all.emplace_back(i);
  }
  return all;
}

std::optional<TimePoint> ModelCachePolicy::next_at(TimePoint now) const {
  if (is_on_its_way()) return std::nullopt;  // what comes of it is an event
  std::optional<TimePoint> next;
  const auto also = [&](TimePoint at) {
    if (at > now && (!next || at < *next)) next = at;
  };
  const std::vector<PooledModelId> waiting = line();
  for (const PooledModelId id : waiting)
    also(at(id).asked_at + options_.turn);
  for (const Model& model : models_) {
    if (model.state != llm::LoadState::kLoaded || model.pinned) continue;
    if (!waiting.empty()) {
      also(model.came_at + turn_of(model));
      if (model.clients_at) also(*model.clients_at + options_.clients_rest);
      if (model.inside == 0) also(model.used_at + options_.rest);
    }
    if (options_.unload_idle > Duration{} && model.inside == 0)
      also(model.used_at + options_.unload_idle);
  }
  return next;
}

llm::ModelStatus ModelCachePolicy::status(PooledModelId id) const {
  const Model& model = at(id);
  return {.state = model.state,
          .memory_bytes = model.bytes,
          .pinned = model.pinned,
          .wanted = model.state != llm::LoadState::kLoaded && in_line(model),
          .requests = model.inside,
          .waiting = model.waiting,
          .load_error = {}};
}

// --- decisions ----------------------------------------------------------------------------------

// What a file was is known for as long as its model is wanted: it may be another one by then.
void ModelCachePolicy::forget_looks() {
  for (Model& model : models_) {
    if (!in_line(model)) model.passed = false;
  }
}

void ModelCachePolicy::decide(TimePoint now, PoolActions& actions) {
  if (is_on_its_way()) return;
  forget_looks();
  for (const PooledModelId id : line()) {
    if (has_no_place(id)) {
      refuse(id, actions);
      continue;
    }
    if (fits(at(id).bytes, {})) {
      reopen({}, actions);
      return load(now, id, actions);
    }
    if (make_room(id, who_may_leave(now, id), actions)) return;
    // The room that there will be is that of who has waited long enough; but nobody knows when
    // clients will leave any to a batch.
    const bool comes = is_for_clients(at(id)) || fits(at(id).bytes, all_but_clients(now));
    if (comes && now - at(id).asked_at >= options_.turn) return reopen({}, actions);
  }
  reopen({}, actions);
  unload_resting(now, actions);
}

// Of those who may leave as many as have to. True: something is being done about it.
bool ModelCachePolicy::make_room(PooledModelId coming, std::span<const PooledModelId> may_leave,
                                 PoolActions& actions) {
  size_t count = 0;
  while (count < may_leave.size() && !fits(at(coming).bytes, may_leave.first(count)))
    ++count;
  const std::span<const PooledModelId> leaving = may_leave.first(count);
  if (!fits(at(coming).bytes, leaving)) return false;
  if (!at(coming).passed) {
    at(coming).looked_at = true;
    actions.push_back({PoolAction::Kind::kLook, coming});
    return true;
  }
  reopen(leaving, actions);
  for (const PooledModelId id : leaving)
    at(id).closing = true;
  const auto unused =
      std::ranges::find_if(leaving, [this](PooledModelId id) { return at(id).inside == 0; });
  if (unused != leaving.end()) unload(*unused, actions);
  return true;
}

// Nobody needs the room of the others any more.
void ModelCachePolicy::reopen(std::span<const PooledModelId> but, PoolActions& actions) {
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const PooledModelId id(i);
    if (std::ranges::find(but, id) != but.end()) continue;
    Model& model = at(id);
    if (model.state != llm::LoadState::kLoaded || !std::exchange(model.closing, false)) continue;
    let_in(id, actions);
  }
}

void ModelCachePolicy::let_in(PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  if (model.waiting == 0) return;
  model.inside += std::exchange(model.waiting, 0);
  model.clients_inside += std::exchange(model.clients_waiting, 0);
  actions.push_back({PoolAction::Kind::kLetIn, id});
}

// Of those nobody uses: who was told to leave, who was not used for long, and when more came in
// than was thought, who was not used longest.
void ModelCachePolicy::unload_resting(TimePoint now, PoolActions& actions) {
  std::optional<PooledModelId> longest;
  int32_t there = 0;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state != llm::LoadState::kLoaded) continue;
    ++there;
    if (model.pinned || model.inside > 0) continue;
    const auto rank = [](const Model& it) { return std::pair(!it.dismissed, it.used_at); };
    if (!longest || rank(model) < rank(at(*longest))) longest = PooledModelId(i);
  }
  if (!longest) return;
  const Model& model = at(*longest);
  const bool too_much = options_.bytes_max > 0 && bytes_used() > options_.bytes_max && there > 1;
  const bool too_long =
      options_.unload_idle > Duration{} && now - model.used_at >= options_.unload_idle;
  if (model.dismissed || too_much || too_long) unload(*longest, actions);
}

void ModelCachePolicy::load(TimePoint now, PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  model.state = llm::LoadState::kLoading;
  model.passed = false;
  model.came_at = now;
  actions.push_back({PoolAction::Kind::kLoad, id});
}

void ModelCachePolicy::unload(PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  ENSURE(model.inside == 0 && !model.pinned, "model {} is to leave and is used", id.value());
  model.state = llm::LoadState::kUnloading;
  model.closing = false;
  model.dismissed = false;
  actions.push_back({PoolAction::Kind::kUnload, id});
}

void ModelCachePolicy::refuse(PooledModelId id, PoolActions& actions) {
  Model& model = at(id);
  model.wanted = false;
  model.clients_waiting = 0;
  if (std::exchange(model.waiting, 0) > 0) actions.push_back({PoolAction::Kind::kRefuse, id});
}

}  // namespace windrow::engine
