#include "app/embedded_answerers.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <map>
#include <utility>
#include <variant>

#include "app/dry_run_command.h"
#include "app/run_options.h"
#include "app/serve_options.h"
#include "base/hash.h"
#include "engine/engine_thread.h"

namespace windrow::app {

namespace json = boost::json;

namespace {

const engine::Vocabulary& vocabulary_of(const OpenModel& model) {
  if (model.model) return model.model->vocabulary();
  return *model.simulated;
}

// Of the weights, of Windrow and of the library that computes.
std::string fingerprint_of(const std::string& path, const std::string& runtime) {
  constexpr size_t kDigits = 10;
  const Result<std::string> identity = model_identity(path);
  if (!identity) return "";  // the file is gone from where it was
  const std::string text = fmt::format("{}\n{}\n{}", *identity, WINDROW_VERSION, runtime);
  return "fp_" + to_hex(hash64(text)).substr(0, kDigits);
}

}  // namespace

json::array EmbeddedAnswerers::description() const {
  json::array models;
  for (const ModelChoice& choice : choices_) {
    models.push_back(json::object{{"name", served_name(choice)}, {"path", choice.path}});
  }
  return models;
}

Result<void> EmbeddedAnswerers::open(const AnswerersOfRun& run) {
  if (!std::ranges::all_of(choices_, is_simulated)) {
    Result<std::unique_ptr<engine::LlamaLibrary>> library =
        engine::LlamaLibrary::start(backends_folder());
    if (!library) return library.error();
    library_ = *std::move(library);
  }
  const HowToOpen how{.date_unix_s = run.began_unix_s,
                      .serving = run.serving,
                      .metrics = run.metrics.get(),
                      .arriving = run.arriving,
                      .thread = std::make_shared<engine::EngineThread>(clock_)};
  for (const ModelChoice& choice : choices_) {
    if (run.refusal) {
      if (std::optional<Error> refusal = run.refusal()) return *std::move(refusal);
    }
    HowToOpen of_model = how;
    of_model.tell = [this](const std::string& what) { console_.warn(what); };
    Result<OpenModel> model = open_model(library_.get(), choice, settings_, of_model, clock_);
    if (!model) return model.error();
    models_.push_back(*std::move(model));
    backends_.add(*models_.back().backend);
    if (run.serving) {
      if (Result<void> ready = open_likely_contexts(models_.back()); !ready) return ready.error();
    }
    dispatch::DispatchOptions options{.coalesce = settings_.dedupe};
    if (run.serving) {
      options.waiting_max = static_cast<int32_t>(settings_.queue_max);
      options.reserve = dispatch::kServerReserve;
      // No more inside than rows there are: who comes later and is more urgent would stand behind
      // all that waits in there.
      if (!models_.back().embeds_first)
        options.in_flight_max = static_cast<int32_t>(settings_.rows_max);
    }
    dispatchers_.push_back(
        std::make_unique<dispatch::Dispatcher>(*models_.back().backend, std::move(options)));
    routes_.push_back({served_name(choice), dispatchers_.back().get()});
  }
  opened_ = true;
  return {};
}

std::vector<OfferedModel> EmbeddedAnswerers::offered() const {
  std::vector<OfferedModel> list;
  std::vector<std::string> names;
  names.reserve(routes_.size());
  for (const batch::ModelRoute& route : routes_)
    names.push_back(route.name);
  // Checked before anything was opened.
  const std::map<std::string, std::string> aliases = local_aliases(settings_, names).value();
  for (size_t i = 0; i < models_.size(); ++i) {
    OfferedModel offered{.model = {.name = routes_[i].name,
                                   .dispatcher = routes_[i].dispatcher,
                                   .endpoints = models_[i].endpoints,
                                   .created_unix_s = clock_.unix_seconds(),
                                   .context_tokens = models_[i].backend->request_tokens_max(),
                                   .vocabulary_size = vocabulary_of(models_[i]).size(),
                                   .fingerprint = fingerprint_of(models_[i].path, runtime())},
                         .aliases = {},
                         .any = choices_[i].name.empty()};
    for (const auto& [name, model] : aliases) {
      if (model == routes_[i].name) offered.aliases.push_back(name);
    }
    list.push_back(std::move(offered));
  }
  return list;
}

std::vector<api::ModelReading> EmbeddedAnswerers::readings() const {
  std::vector<api::ModelReading> list;
  if (!opened_) return list;
  for (size_t i = 0; i < models_.size(); ++i) {
    list.push_back({.name = routes_[i].name,
                    .stats = models_[i].backend->stats(),
                    .queue = dispatchers_[i]->queue(),
                    .dispatch = dispatchers_[i]->counts()});
  }
  return list;
}

std::string EmbeddedAnswerers::note() const {
  if (!choices_.front().name.empty()) return "";
  return fmt::format("{} answers every row, whatever model it names", choices_.front().path);
}

std::optional<llm::Failure> EmbeddedAnswerers::check(const llm::Request& request) const {
  auto measured = measure_request(model_for(models_, request), request);
  if (auto* failure = std::get_if<llm::Failure>(&measured)) return std::move(*failure);
  return std::nullopt;
}

dispatch::DispatchCounts EmbeddedAnswerers::counts() const {
  dispatch::DispatchCounts sum;
  for (const auto& dispatcher : dispatchers_)
    sum.coalesced += dispatcher->counts().coalesced;
  return sum;
}

std::string EmbeddedAnswerers::runtime() const {
  return library_ ? engine::LlamaLibrary::version() : "simulated";
}

}  // namespace windrow::app
