#include "fleet/job_models.h"

#include <algorithm>
#include <utility>

namespace windrow::fleet {

void BackendGroup::add(const llm::Backend& backend) {
  const std::scoped_lock lock(mutex_);
  backends_.push_back(&backend);
}

llm::BackendStats BackendGroup::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats sum;
  for (const llm::Backend* backend : backends_)
    sum += backend->stats();
  return sum;
}

Result<void> JobModels::load(const ModelChoice& choice, const LoadOptions& how) {
  if (!library_ && !is_simulated(choice)) {
    Result<std::unique_ptr<engine::LlamaLibrary>> library =
        engine::LlamaLibrary::start(options_.backends_folder);
    if (!library) return library.error();
    library_ = *std::move(library);
  }
  Result<LocalModel> model = load_model(library_.get(), choice, options_, how, clock_);
  if (!model) return model.error();
  models_.push_back(*std::move(model));
  backends_.add(*models_.back().backend);
  return {};
}

const LocalModel& JobModels::model_for(const llm::Request& request) const {
  const auto named = std::ranges::find(models_, request.model, &LocalModel::name);
  return named != models_.end() ? *named : models_.front();
}

std::string JobModels::runtime() const {
  return library_ ? engine::LlamaLibrary::version() : "simulated";
}

}  // namespace windrow::fleet
