#include "app/embedded_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>
#include <variant>

#include "app/dry_run_command.h"
#include "app/run_options.h"
#include "engine/host/device_thread.h"

namespace windrow::app {

namespace json = boost::json;

json::array EmbeddedFleet::description() const {
  json::array models;
  for (const ModelChoice& choice : choices_) {
    models.push_back(json::object{{"name", served_name(choice)}, {"path", choice.path}});
  }
  return models;
}

Result<void> EmbeddedFleet::open(const FleetOptions& run) {
  if (!std::ranges::all_of(choices_, is_simulated)) {
    Result<std::unique_ptr<engine::LlamaLibrary>> library =
        engine::LlamaLibrary::start(backends_folder());
    if (!library) return library.error();
    library_ = *std::move(library);
  }
  const LoadOptions how{.date_unix_s = run.began_unix_s,
                        .serving = run.serving,
                        .metrics = run.metrics.get(),
                        .arriving = run.arriving,
                        .thread = std::make_shared<engine::DeviceThread>(clock_)};
  for (const ModelChoice& choice : choices_) {
    if (run.refusal) {
      if (std::optional<Error> refusal = run.refusal()) return *std::move(refusal);
    }
    LoadOptions of_model = how;
    of_model.tell = [this](const std::string& what) { console_.warn(what); };
    Result<OpenModel> model = open_model(library_.get(), choice, settings_, of_model, clock_);
    if (!model) return model.error();
    models_.push_back(*std::move(model));
    backends_.add(*models_.back().backend);
    dispatchers_.push_back(std::make_unique<dispatch::Dispatcher>(
        *models_.back().backend, dispatch::DispatchOptions{.coalesce = settings_.dedupe}));
    routes_.push_back({served_name(choice), dispatchers_.back().get()});
  }
  return {};
}

std::string EmbeddedFleet::note() const {
  if (!choices_.front().name.empty()) return "";
  return fmt::format("{} answers every row, whatever model it names", choices_.front().path);
}

std::optional<llm::Failure> EmbeddedFleet::check(const llm::Request& request) const {
  auto measured = measure_request(model_for(models_, request), request);
  if (auto* failure = std::get_if<llm::Failure>(&measured)) return std::move(*failure);
  return std::nullopt;
}

dispatch::DispatchCounts EmbeddedFleet::counts() const {
  dispatch::DispatchCounts sum;
  for (const auto& dispatcher : dispatchers_)
    sum.coalesced += dispatcher->counts().coalesced;
  return sum;
}

std::string EmbeddedFleet::runtime() const {
  return library_ ? engine::LlamaLibrary::version() : "simulated";
}

}  // namespace windrow::app
