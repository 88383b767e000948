#include "engine/manager/model_cache_policy.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {

std::vector<ModelId> default_first_models(std::span<const ModelNeeds> models, uint64_t bytes_max) {
  uint64_t bytes = 0;
  for (const ModelNeeds& model : models)
    bytes += model.pinned ? model.bytes : 0;
  std::vector<ModelId> chosen;
  bool any = std::ranges::any_of(models, &ModelNeeds::pinned);
  for (uint32_t i = 0; i < models.size(); ++i) {
    const ModelNeeds& model = models[i];
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

// --- events -------------------------------------------------------------------------------------

Admission ModelCachePolicy::arrive(TimePoint now, ModelId id, Requester requester,
                                   CacheActions& actions) {
  Model& model = state_.at(id);
  const bool client = requester == Requester::kClient;
  model.used_at = now;
  if (client) model.clients_at = now;
  model.unload_requested = false;
  if (model.state == llm::LoadState::kLoaded && !model.closing) {
    ++model.inside;
    model.clients_inside += client ? 1 : 0;
    return Admission::kAdmitted;
  }
  if (model.state == llm::LoadState::kAbsent) {
    if (model.refused_until && now < *model.refused_until) return Admission::kRefused;
    if (can_never_fit(id)) return Admission::kRefused;
  }
  if (!model.is_queued() || (client && !model.is_for_clients())) model.asked_at = now;
  ++model.waiting;
  model.clients_waiting += client ? 1 : 0;
  decide(now, actions);
  return Admission::kWaits;
}

void ModelCachePolicy::end(TimePoint now, ModelId id, Requester requester, CacheActions& actions) {
  Model& model = state_.at(id);
  const bool client = requester == Requester::kClient;
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

void ModelCachePolicy::stop_waiting(TimePoint now, ModelId id, Requester requester,
                                    CacheActions& actions) {
  Model& model = state_.at(id);
  const bool client = requester == Requester::kClient;
  ENSURE(model.waiting > 0 && (!client || model.clients_waiting > 0),
         "a request leaves model {} and none waits", id.value());
  --model.waiting;
  model.clients_waiting -= client ? 1 : 0;
  if (model.waiting == 0 || (client && !model.is_for_clients())) decide(now, actions);
}

void ModelCachePolicy::forget_waiting() {
  for (uint32_t i = 0; i < state_.size(); ++i) {
    Model& model = state_.at(ModelId(i));
    model.waiting = 0;
    model.clients_waiting = 0;
    model.wanted = false;
  }
}

void ModelCachePolicy::checked(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  ENSURE(model.being_checked, "model {} passed and was not looked at", id.value());
  model.being_checked = false;
  model.passed = true;
  decide(now, actions);
}

void ModelCachePolicy::loaded(TimePoint now, ModelId id, uint64_t bytes, CacheActions& actions) {
  Model& model = state_.at(id);
  ENSURE(model.state == llm::LoadState::kLoading, "model {} is there and was not loaded",
         id.value());
  model.state = llm::LoadState::kLoaded;
  model.bytes = bytes;
  model.load_time = now - model.came_at;
  model.came_at = now;
  model.used_at = now;
  model.wanted = false;
  model.refused_until.reset();
  admit_all(id, actions);
  decide(now, actions);
}

void ModelCachePolicy::load_failed(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  ENSURE(model.state == llm::LoadState::kLoading || model.being_checked,
         "model {} failed and was neither loaded nor looked at", id.value());
  model.state = llm::LoadState::kAbsent;
  model.being_checked = false;
  model.passed = false;
  model.refused_until = now + state_.options().retry_after;
  refuse_all(id, actions);
  decide(now, actions);
}

void ModelCachePolicy::unloaded(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  ENSURE(model.state == llm::LoadState::kUnloading, "model {} is gone and was not unloaded",
         id.value());
  model.state = llm::LoadState::kAbsent;
  decide(now, actions);
}

void ModelCachePolicy::grew(TimePoint now, ModelId id, uint64_t bytes, CacheActions& actions) {
  Model& model = state_.at(id);
  if (model.state != llm::LoadState::kLoaded || model.bytes == bytes) return;
  model.bytes = bytes;
  decide(now, actions);
}

Admission ModelCachePolicy::try_request_load(TimePoint now, ModelId id, CacheActions& actions) {
  const Model& model = state_.at(id);
  const bool failed = model.refused_until && now < *model.refused_until;
  if (model.state == llm::LoadState::kAbsent && (failed || can_never_fit(id)))
    return Admission::kRefused;
  request_load(now, id, actions);
  return Admission::kWaits;
}

void ModelCachePolicy::request_load(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  model.unload_requested = false;
  if (model.state == llm::LoadState::kLoaded || model.state == llm::LoadState::kLoading) return;
  if (!model.is_for_clients()) model.asked_at = now;
  model.clients_at = now;
  model.wanted = true;
  model.refused_until.reset();
  decide(now, actions);
}

llm::UnloadResult ModelCachePolicy::request_unload(TimePoint now, ModelId id,
                                                   CacheActions& actions) {
  Model& model = state_.at(id);
  if (model.pinned) return llm::UnloadResult::kPinned;
  if (model.inside + model.waiting > 0) return llm::UnloadResult::kInUse;
  model.wanted = false;
  const bool absent = model.state == llm::LoadState::kAbsent;
  model.unload_requested = !absent;
  decide(now, actions);
  return absent ? llm::UnloadResult::kAbsent : llm::UnloadResult::kUnloading;
}

void ModelCachePolicy::unload_when_unused(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  if (model.pinned || model.state != llm::LoadState::kLoaded || model.waiting > 0) return;
  model.unload_requested = true;
  if (model.inside == 0) decide(now, actions);
}

// --- readings -----------------------------------------------------------------------------------

std::optional<TimePoint> ModelCachePolicy::next_at(TimePoint now) const {
  if (state_.is_busy()) return std::nullopt;  // its end is an event
  return state_.next_change(now);
}

llm::ModelStatus ModelCachePolicy::status(ModelId id) const {
  const Model& model = state_.at(id);
  return {.state = model.state,
          .memory_bytes = model.bytes,
          .pinned = model.pinned,
          .wanted = model.state != llm::LoadState::kLoaded && model.is_queued(),
          .requests = model.inside,
          .waiting = model.waiting,
          .load_error = {}};
}

// --- decisions ----------------------------------------------------------------------------------

// The result of a check counts while the model is wanted: later the file may be another one.
void ModelCachePolicy::forget_checks() {
  for (uint32_t i = 0; i < state_.size(); ++i) {
    Model& model = state_.at(ModelId(i));
    if (!model.is_queued()) model.passed = false;
  }
}

void ModelCachePolicy::decide(TimePoint now, CacheActions& actions) {
  if (state_.is_busy()) return;
  forget_checks();
  for (const ModelId id : state_.queue()) {
    if (can_never_fit(id)) {
      refuse_all(id, actions);
      continue;
    }
    const Model& model = state_.at(id);
    if (state_.fits(model.bytes, {})) {
      reopen({}, actions);
      return load(now, id, actions);
    }
    if (make_room(id, state_.evictable_for(now, id), actions)) return;
    // Room that becomes free belongs to the model that has waited long enough; but when clients
    // leave any to a batch is not known.
    const bool comes =
        model.is_for_clients() || state_.fits(model.bytes, state_.evictable_for_batches(now));
    if (comes && now - model.asked_at >= state_.options().turn) return reopen({}, actions);
  }
  reopen({}, actions);
  if (const std::optional<ModelId> id = state_.to_unload(now)) unload(*id, actions);
}

// Evicts as many of the evictable models as necessary. True: an action for it is under way.
bool ModelCachePolicy::make_room(ModelId coming, std::span<const ModelId> evictable,
                                 CacheActions& actions) {
  Model& model = state_.at(coming);
  size_t count = 0;
  while (count < evictable.size() && !state_.fits(model.bytes, evictable.first(count)))
    ++count;
  const std::span<const ModelId> leaving = evictable.first(count);
  if (!state_.fits(model.bytes, leaving)) return false;
  if (!model.passed) {
    model.being_checked = true;
    actions.push_back({CacheAction::Kind::kCheck, coming});
    return true;
  }
  reopen(leaving, actions);
  for (const ModelId id : leaving)
    state_.at(id).closing = true;
  const auto idle =
      std::ranges::find_if(leaving, [this](ModelId id) { return state_.at(id).is_idle(); });
  if (idle != leaving.end()) unload(*idle, actions);
  return true;
}

// The room of the other models is not needed any more.
void ModelCachePolicy::reopen(std::span<const ModelId> except, CacheActions& actions) {
  for (uint32_t i = 0; i < state_.size(); ++i) {
    const ModelId id(i);
    if (std::ranges::find(except, id) != except.end()) continue;
    Model& model = state_.at(id);
    if (model.state != llm::LoadState::kLoaded || !std::exchange(model.closing, false)) continue;
    admit_all(id, actions);
  }
}

void ModelCachePolicy::admit_all(ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  if (model.waiting == 0) return;
  model.inside += std::exchange(model.waiting, 0);
  model.clients_inside += std::exchange(model.clients_waiting, 0);
  actions.push_back({CacheAction::Kind::kAdmit, id});
}

void ModelCachePolicy::refuse_all(ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  model.wanted = false;
  model.clients_waiting = 0;
  if (std::exchange(model.waiting, 0) > 0) actions.push_back({CacheAction::Kind::kRefuse, id});
}

void ModelCachePolicy::load(TimePoint now, ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  model.state = llm::LoadState::kLoading;
  model.passed = false;
  model.came_at = now;
  actions.push_back({CacheAction::Kind::kLoad, id});
}

void ModelCachePolicy::unload(ModelId id, CacheActions& actions) {
  Model& model = state_.at(id);
  ENSURE(model.is_idle() && !model.pinned, "model {} is to be unloaded and is used", id.value());
  model.state = llm::LoadState::kUnloading;
  model.closing = false;
  model.unload_requested = false;
  actions.push_back({CacheAction::Kind::kUnload, id});
}

}  // namespace windrow::engine
