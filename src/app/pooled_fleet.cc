#include "app/pooled_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <map>
#include <utility>

#include "app/run_options.h"
#include "app/serve_options.h"
#include "base/format.h"
#include "base/hash.h"
#include "engine/llama/memory_device.h"

namespace windrow::app {

namespace json = boost::json;

namespace {

// Without --memory: of what is free at the start, so much; the rest is for everything else.
constexpr double kFreeMemoryShare = 0.9;

// A model with what it stands on.
class Opened final : public engine::LoadedModel {
 public:
  Opened(OpenModel model, const ModelChoice& choice, const Settings& settings)
      : model_(std::move(model)), choice_(choice), settings_(settings) {}

  llm::Backend& backend() override { return *model_.backend; }
  uint64_t bytes() const override { return bytes_of(model_, choice_, settings_); }

 private:
  const OpenModel model_;
  const ModelChoice& choice_;
  const Settings& settings_;
};

// Of the weights, of Windrow and of the library that computes.
std::string fingerprint_of(const std::string& path, const std::string& runtime) {
  constexpr size_t kDigits = 10;
  const Result<std::string> identity = model_identity(path);
  if (!identity) return "";  // the file is gone from where it was
  const std::string text = fmt::format("{}\n{}\n{}", *identity, WINDROW_VERSION, runtime);
  return "fp_" + to_hex(hash64(text)).substr(0, kDigits);
}

// Where a file lies is nobody's business but the server's.
std::string without_path(std::string text, const ModelChoice& choice) {
  if (const std::string front = choice.path + ": "; text.starts_with(front))
    text.erase(0, front.size());
  if (choice.path.find('/') == std::string::npos) return text;  // a name that says nothing
  constexpr std::string_view kInstead = "its file";
  for (size_t at = text.find(choice.path); at != std::string::npos;
       at = text.find(choice.path, at + kInstead.size()))
    text.replace(at, choice.path.size(), kInstead);
  return text;
}

llm::LoadState state_of(engine::Presence presence) {
  switch (presence) {
    case engine::Presence::kLoading:
      return llm::LoadState::kLoading;
    case engine::Presence::kLoaded:
      return llm::LoadState::kLoaded;
    case engine::Presence::kUnloading:
      return llm::LoadState::kUnloading;
    case engine::Presence::kAbsent:
      break;
  }
  return llm::LoadState::kAbsent;
}

}  // namespace

// A model in the keeper, as the server's endpoints see it.
class PooledFleet::Place final : public llm::ModelResidency {
 public:
  Place(engine::ModelManager& keeper, uint32_t index) : keeper_(keeper), id_(index) {}

  llm::ModelStatus status() const override {
    const engine::ManagerReading reading = keeper_.reading(id_);
    return {.state = state_of(reading.presence),
            .memory_bytes = reading.bytes,
            .pinned = reading.pinned,
            .wanted = reading.wanted,
            .requests = reading.inside,
            .waiting = reading.waiting,
            .loads = reading.loads,
            .loads_failed = reading.loads_failed,
            .unloads = reading.unloads,
            .load_seconds = seconds(reading.loading),
            .load_error = reading.error};
  }

  void load() override { keeper_.load(id_); }

  llm::UnloadResult unload() override {
    switch (keeper_.unload(id_)) {
      case engine::UnloadResult::kUsed:
        return llm::UnloadResult::kInUse;
      case engine::UnloadResult::kPinned:
        return llm::UnloadResult::kPinned;
      case engine::UnloadResult::kAbsent:
        return llm::UnloadResult::kAbsent;
      case engine::UnloadResult::kLeaves:
        break;
    }
    return llm::UnloadResult::kUnloading;
  }

  void unload_when_unused() override { keeper_.unload_when_unused(id_); }

 private:
  engine::ModelManager& keeper_;
  const engine::PooledModelId id_;
};

PooledFleet::PooledFleet(const std::vector<ModelChoice>& chosen, const Settings& settings,
                         const Clock& clock, Console& console)
    : chosen_(chosen), settings_(settings), clock_(clock), console_(console) {}

PooledFleet::~PooledFleet() = default;

json::array PooledFleet::description() const {
  json::array models;
  for (const ModelChoice& choice : chosen_)
    models.push_back(json::object{{"name", served_name(choice)}, {"path", choice.path}});
  return models;
}

// 0: there is no limit.
uint64_t PooledFleet::memory_of_device() const {
  if (!library_) return 0;
  const std::vector<engine::Device> devices = library_->devices();
  const engine::Device& device = devices[engine::memory_device(
      devices,
      {.gpu_layers = static_cast<int32_t>(settings_.gpu_layers), .device = settings_.device})];
  return static_cast<uint64_t>(kFreeMemoryShare * static_cast<double>(device.memory_free_bytes));
}

Result<std::vector<ModelEstimate>> PooledFleet::look_out(uint64_t memory_bytes) const {
  std::vector<ModelHeader> headers;
  std::vector<uint64_t> least;
  for (const ModelChoice& choice : choices_) {
    Result<ModelHeader> header = read_model_header(library_.get(), choice);
    if (!header) return header.error();
    least.push_back(model_estimate(*header, choice, settings_, 1).bytes);
    headers.push_back(*std::move(header));
  }
  std::vector<ModelEstimate> outlooks;
  outlooks.reserve(choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i) {
    outlooks.push_back(
        model_estimate(headers[i], choices_[i], settings_, context_memory(least, i, memory_bytes)));
  }
  return outlooks;
}

void PooledFleet::say(const engine::KeeperNews& news) const {
  using Kind = engine::KeeperNews::Kind;
  switch (news.kind) {
    case Kind::kLoading:
      break;
    case Kind::kLoaded:
      console_.note(fmt::format("{} is loaded after {} and takes {}", news.name,
                                human_duration(news.took), human_bytes(news.bytes)));
      break;
    case Kind::kFailed:
      console_.warn(fmt::format("{} cannot be loaded: {}", news.name, news.why));
      break;
    case Kind::kUnloaded:
      console_.note(fmt::format("{} is unloaded", news.name));
      break;
  }
}

engine::KeptModel PooledFleet::kept_model(size_t index, const ModelEstimate& outlook, bool pinned,
                                          const LoadOptions& how) const {
  const ModelChoice& choice = choices_[index];
  engine::KeptModel model{.name = served_name(choice),
                          .facts = {.bytes = outlook.bytes, .pinned = pinned},
                          .in_flight_target = static_cast<int32_t>(settings_.rows_max)};
  model.look = [this, &choice] { return look_at_model(library_.get(), choice); };
  model.load = [this, &choice,
                how](std::stop_token unwanted) -> Result<std::unique_ptr<engine::LoadedModel>> {
    LoadOptions here = how;
    here.unwanted = std::move(unwanted);
    here.tell = [this](const std::string& what) { console_.warn(what); };
    Result<OpenModel> opened = open_model(library_.get(), choice, settings_, here, clock_);
    if (!opened) return opened.error();
    if (Result<void> ready = open_likely_contexts(*opened); !ready) return ready.error();
    return std::make_unique<Opened>(*std::move(opened), choice, settings_);
  };
  model.in_words = [&choice](const Error& error) { return without_path(error.message, choice); };
  return model;
}

Result<void> PooledFleet::open(const FleetOptions& run) {
  choices_ = chosen_;
  std::vector<std::string> names;
  names.reserve(choices_.size());
  for (const ModelChoice& choice : choices_)
    names.push_back(served_name(choice));
  const Result<PoolChoice> chosen = pool_choice(settings_, names);
  if (!chosen) return chosen.error();
  if (!std::ranges::all_of(choices_, is_simulated)) {
    Result<std::unique_ptr<engine::LlamaLibrary>> library =
        engine::LlamaLibrary::start(backends_folder());
    if (!library) return library.error();
    library_ = *std::move(library);
  }
  const uint64_t memory_bytes =
      chosen->memory_bytes > 0 ? chosen->memory_bytes : memory_of_device();
  Result<std::vector<ModelEstimate>> outlooks = look_out(memory_bytes);
  if (!outlooks) return outlooks.error();
  outlooks_ = *std::move(outlooks);

  std::vector<engine::PooledModelFacts> facts;
  facts.reserve(choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i)
    facts.push_back({.bytes = outlooks_[i].bytes, .pinned = chosen->kept[i]});
  const Result<std::vector<engine::PooledModelId>> first =
      models_to_load_first(*chosen, facts, names, memory_bytes);
  if (!first) return first.error();

  thread_ = std::make_shared<engine::DeviceThread>(clock_);
  std::vector<engine::KeptModel> models;
  models.reserve(choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i) {
    models.push_back(kept_model(i, outlooks_[i], chosen->kept[i],
                                {.date_unix_s = run.began_unix_s,
                                 .serving = true,
                                 .metrics = run.metrics.get(),
                                 .arriving = run.arriving,
                                 .thread = thread_,
                                 .memory_bytes = outlooks_[i].context_memory_bytes}));
  }
  keeper_ = std::make_unique<engine::ModelManager>(
      std::move(models),
      engine::KeeperOptions{.pool = {.bytes_max = memory_bytes,
                                     .unload_idle = std::chrono::seconds(settings_.unload_idle_s)},
                            .on_news = choices_.size() > 1
                                           ? [this](const engine::KeeperNews& news) { say(news); }
                                           : std::function<void(const engine::KeeperNews&)>()},
      clock_);
  for (uint32_t i = 0; i < choices_.size(); ++i) {
    dispatch::DispatchOptions options{.waiting_max = static_cast<int32_t>(settings_.queue_max),
                                      .reserve = queueing::kServerReserve,
                                      .coalesce = settings_.dedupe,
                                      .slots_by_rows = true};
    // Not many more inside than rows there are: who comes later, and is more urgent or was served
    // less, would stand behind all that waits in there.
    if (!outlooks_[i].embeds_first) {
      options.in_flight_max = static_cast<int32_t>(settings_.rows_max);
      options.reserve.batch_is_preemptible = true;
    }
    places_.push_back(std::make_shared<Place>(*keeper_, i));
    dispatchers_.push_back(std::make_unique<dispatch::Dispatcher>(
        keeper_->backend(engine::PooledModelId(i)), std::move(options)));
    routes_.push_back({names[i], dispatchers_.back().get()});
  }
  if (Result<void> loaded = keeper_->load_first(*first); !loaded) return loaded.error();
  opened_ = true;
  return {};
}

std::vector<FleetModel> PooledFleet::offered() const {
  std::vector<FleetModel> list;
  std::vector<std::string> names;
  names.reserve(routes_.size());
  for (const batch::ModelRoute& route : routes_)
    names.push_back(route.name);
  // Checked before anything was opened.
  const std::map<std::string, std::string> aliases = local_aliases(settings_, names).value();
  for (size_t i = 0; i < choices_.size(); ++i) {
    FleetModel offered{.model = {.name = routes_[i].name,
                                 .dispatcher = dispatchers_[i].get(),
                                 .endpoints = outlooks_[i].endpoints,
                                 .created_unix_s = clock_.unix_seconds(),
                                 .context_tokens = outlooks_[i].context_tokens,
                                 .vocabulary_size = outlooks_[i].vocabulary_size,
                                 .fingerprint = fingerprint_of(choices_[i].path, runtime()),
                                 .residence = places_[i]},
                       .aliases = {},
                       .any = choices_[i].name.empty()};
    for (const auto& [name, model] : aliases) {
      if (model == routes_[i].name) offered.aliases.push_back(name);
    }
    list.push_back(std::move(offered));
  }
  return list;
}

std::vector<api::ModelReading> PooledFleet::readings() const {
  std::vector<api::ModelReading> list;
  if (!opened_) return list;
  for (uint32_t i = 0; i < choices_.size(); ++i) {
    list.push_back({.name = routes_[i].name,
                    .stats = keeper_->backend(engine::PooledModelId(i)).stats(),
                    .queue = dispatchers_[i]->queue(),
                    .dispatch = dispatchers_[i]->counts(),
                    .residence = places_[i]->read()});
  }
  return list;
}

llm::BackendStats PooledFleet::stats() const {
  llm::BackendStats sum;
  for (uint32_t i = 0; opened_ && i < choices_.size(); ++i)
    sum += keeper_->backend(engine::PooledModelId(i)).stats();
  return sum;
}

dispatch::DispatchCounts PooledFleet::counts() const {
  dispatch::DispatchCounts sum;
  for (const auto& dispatcher : dispatchers_)
    sum.coalesced += dispatcher->counts().coalesced;
  return sum;
}

std::string PooledFleet::runtime() const {
  return library_ ? engine::LlamaLibrary::version() : "simulated";
}

}  // namespace windrow::app
