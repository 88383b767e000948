#include "api/calls/model_registry.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {

void ModelRegistry::add(ServedModel model, bool any) {
  const std::scoped_lock lock(mutex_);
  auto owned = std::make_unique<const ServedModel>(std::move(model));
  const ServedModel* added = owned.get();
  const auto same =
      std::ranges::find(models_, added->name, [](const auto& it) { return it->name; });
  if (same == models_.end()) {
    models_.push_back(std::move(owned));
  } else {
    for (auto& [name, named] : by_name_)
      named = named == same->get() ? added : named;
    if (any_ == same->get()) any_ = added;
    replaced_.push_back(std::exchange(*same, std::move(owned)));
  }
  by_name_[added->name] = added;
  if (any) any_ = added;
}

void ModelRegistry::add_alias(std::string name, std::string model) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(model);
  ENSURE(found != by_name_.end(), "an alias of {}, which is not served", model);
  by_name_.try_emplace(std::move(name), found->second);
}

const ServedModel* ModelRegistry::find(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? any_ : found->second;
}

const ServedModel* ModelRegistry::only_one_for(llm::Endpoint endpoint) const {
  const std::scoped_lock lock(mutex_);
  const ServedModel* only = nullptr;
  for (const auto& model : models_) {
    if (!model->endpoints.contains(endpoint)) continue;
    if (only != nullptr) return nullptr;
    only = model.get();
  }
  return only;
}

std::vector<ServedModel> ModelRegistry::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ServedModel> list;
  list.reserve(models_.size() + by_name_.size());
  for (const auto& model : models_)
    list.push_back(*model);
  for (const auto& [name, model] : by_name_) {
    if (name == model->name) continue;
    list.push_back(*model);
    list.back().name = name;
  }
  return list;
}

void ModelRegistry::set_state(ServeState state) {
  const std::scoped_lock lock(mutex_);
  state_ = state;
}

ServeState ModelRegistry::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

const ServedModel* find_tagged(const ModelRegistry& registry, std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  const ServedModel* found = registry.find(name);
  if (found != nullptr || !name.ends_with(kLatest)) return found;
  return registry.find(name.substr(0, name.size() - kLatest.size()));
}

}  // namespace windrow::api
