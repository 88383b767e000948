#include "engine/manager/model_cache_state.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace windrow::engine {
namespace {

// A turn is so many times as long as it took to load the model.
constexpr int kTurnLoads = 2;

}  // namespace

ModelCacheState::ModelCacheState(std::span<const ModelNeeds> models,
                                 const ModelCacheOptions& options)
    : options_(options) {
  for (const ModelNeeds& model : models)
    models_.push_back({.bytes = model.bytes, .pinned = model.pinned});
}

bool ModelCacheState::belongs_to_clients(TimePoint now, const Model& model) const {
  return model.clients_inside > 0 ||
         (model.clients_at && now - *model.clients_at < options_.clients_rest);
}

bool ModelCacheState::is_busy() const {
  return std::ranges::any_of(models_, [](const Model& model) {
    return model.state == llm::LoadState::kLoading || model.state == llm::LoadState::kUnloading ||
           model.being_checked;
  });
}

Duration ModelCacheState::turn_of(const Model& model) const {
  return std::max(options_.turn, kTurnLoads * model.load_time);
}

uint64_t ModelCacheState::bytes_used() const {
  uint64_t bytes = 0;
  for (const Model& model : models_)
    bytes += model.state == llm::LoadState::kAbsent ? 0 : model.bytes;
  return bytes;
}

bool ModelCacheState::can_never_fit(ModelId id) const {
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

bool ModelCacheState::fits(uint64_t bytes, std::span<const ModelId> without) const {
  if (options_.bytes_max == 0) return true;
  uint64_t used = 0;
  bool alone = true;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    if (models_[i].state == llm::LoadState::kAbsent) continue;
    if (std::ranges::find(without, ModelId(i)) != without.end()) continue;
    used += models_[i].bytes;
    alone = false;
  }
  return alone || used + bytes <= options_.bytes_max;
}

std::vector<ModelId> ModelCacheState::queue() const {
  std::vector<ModelId> queue;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    if (models_[i].state == llm::LoadState::kAbsent && models_[i].is_queued())
      queue.emplace_back(i);
  }
  std::ranges::sort(queue, {}, [this](ModelId id) {
    return std::tuple(!at(id).is_for_clients(), at(id).asked_at, id);
  });
  return queue;
}

std::vector<ModelId> ModelCacheState::evictable_for(TimePoint now, ModelId coming) const {
  const bool for_clients = at(coming).is_for_clients();
  const bool patient = now - at(coming).asked_at >= options_.turn;
  std::vector<ModelId> idle;
  std::vector<ModelId> used;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state != llm::LoadState::kLoaded || model.pinned) continue;
    const bool of_clients = belongs_to_clients(now, model);
    if (of_clients && !for_clients) continue;
    const bool yields = for_clients && !of_clients;
    const bool over = yields || now - model.came_at >= turn_of(model);
    const bool rests =
        model.closing || model.unload_requested || now - model.used_at >= options_.rest;
    if (model.is_idle() && (over || rests)) {
      idle.emplace_back(i);
    } else if ((patient || yields) && over) {
      used.emplace_back(i);
    }
  }
  std::ranges::sort(idle, {}, [this](ModelId id) { return std::pair(at(id).used_at, id); });
  std::ranges::sort(used, {}, [&](ModelId id) {
    return std::tuple(belongs_to_clients(now, at(id)), !at(id).closing, at(id).came_at, id);
  });
  std::ranges::copy(used, std::back_inserter(idle));
  return idle;
}

std::vector<ModelId> ModelCacheState::evictable_for_batches(TimePoint now) const {
  std::vector<ModelId> all;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state == llm::LoadState::kLoaded && !model.pinned && !belongs_to_clients(now, model))
      all.emplace_back(i);
  }
  return all;
}

std::optional<ModelId> ModelCacheState::to_unload(TimePoint now) const {
  std::optional<ModelId> longest;
  int32_t loaded = 0;
  for (uint32_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    if (model.state != llm::LoadState::kLoaded) continue;
    ++loaded;
    if (model.pinned || !model.is_idle()) continue;
    const auto rank = [](const Model& it) { return std::pair(!it.unload_requested, it.used_at); };
    if (!longest || rank(model) < rank(at(*longest))) longest = ModelId(i);
  }
  if (!longest) return std::nullopt;
  const Model& model = at(*longest);
  const bool too_much = options_.bytes_max > 0 && bytes_used() > options_.bytes_max && loaded > 1;
  const bool too_long =
      options_.unload_idle > Duration{} && now - model.used_at >= options_.unload_idle;
  if (model.unload_requested || too_much || too_long) return longest;
  return std::nullopt;
}

std::optional<TimePoint> ModelCacheState::next_change(TimePoint now) const {
  std::optional<TimePoint> next;
  const auto also = [&](TimePoint at) {
    if (at > now && (!next || at < *next)) next = at;
  };
  const std::vector<ModelId> waiting = queue();
  for (const ModelId id : waiting)
    also(at(id).asked_at + options_.turn);
  for (const Model& model : models_) {
    if (model.state != llm::LoadState::kLoaded || model.pinned) continue;
    if (!waiting.empty()) {
      also(model.came_at + turn_of(model));
      if (model.clients_at) also(*model.clients_at + options_.clients_rest);
      if (model.is_idle()) also(model.used_at + options_.rest);
    }
    if (options_.unload_idle > Duration{} && model.is_idle())
      also(model.used_at + options_.unload_idle);
  }
  return next;
}

}  // namespace windrow::engine
