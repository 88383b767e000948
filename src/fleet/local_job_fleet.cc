#include "fleet/local_job_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/host/device_thread.h"
#include "fleet/load_tokenizer.h"

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
        engine::LlamaLibrary::start(options_.backends_folder, options_.rpc_workers);
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

LocalJobFleet::LocalJobFleet(std::vector<ModelChoice> choices, LocalFleetOptions options,
                             const Clock& clock, FleetEvents& events)
    : choices_(std::move(choices)),
      options_(std::move(options)),
      clock_(clock),
      events_(events),
      models_(options_.engine, clock) {}

Result<void> LocalJobFleet::open(const JobStart& start) {
  began_unix_s_ = start.began_unix_s;
  const LoadOptions how{.date_unix_s = start.began_unix_s,
                        .on_rows = options_.on_rows,
                        .warn = [this](const std::string& text) { events_.warn(text); },
                        .thread = std::make_shared<engine::DeviceThread>(clock_)};
  for (const ModelChoice& choice : choices_) {
    if (start.refusal) {
      if (std::optional<Error> refusal = start.refusal()) return *std::move(refusal);
    }
    if (Result<void> loaded = models_.load(choice, how); !loaded) return loaded.error();
    dispatchers_.push_back(std::make_unique<dispatch::Dispatcher>(
        *models_.models().back().backend,
        dispatch::DispatchOptions{.coalesce = options_.single_flight}));
  }
  return {};
}

std::vector<JobRoute> LocalJobFleet::routes() const {
  std::vector<JobRoute> routes;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const ModelAbilities& abilities = models_.models()[i].abilities;
    routes.push_back({.model = served_name(choices_[i]),
                      .dispatcher = dispatchers_[i].get(),
                      .endpoints = abilities.endpoints,
                      .embeds_first = abilities.embeds_first});
  }
  return routes;
}

JobHooks LocalJobFleet::hooks() {
  JobHooks hooks;
  hooks.check = [this](const llm::Request& request) -> std::optional<llm::Failure> {
    auto measured = models_.model_for(request).backend->measure(request);
    if (auto* failure = std::get_if<llm::Failure>(&measured)) return std::move(*failure);
    return std::nullopt;
  };
  return hooks;
}

Result<std::shared_ptr<const llm::Tokenizer>> LocalJobFleet::tokenizer(
    std::string_view model) const {
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (served_name(choices_[i]) == model)
      return loaded_tokenizer(models_.models()[i], choices_[i], began_unix_s_);
  }
  return Error{ErrorKind::kNotFound, fmt::format("there is no model {}", model)};
}

std::string LocalJobFleet::note() const {
  if (!choices_.front().name.empty()) return "";
  return fmt::format("{} answers every row, whatever model it names", choices_.front().path);
}

dispatch::DispatchCounts LocalJobFleet::counts() const {
  dispatch::DispatchCounts sum;
  for (const auto& dispatcher : dispatchers_)
    sum.coalesced += dispatcher->counts().coalesced;
  return sum;
}

}  // namespace windrow::fleet
