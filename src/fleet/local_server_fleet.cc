#include "fleet/local_server_fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "engine/llama/device_choice.h"
#include "fleet/load_tokenizer.h"
#include "queueing/reserve.h"

namespace windrow::fleet {
namespace {

// Without a limit of memory: this share of what is free at the start. The rest of the machine needs
// some, too.
constexpr double kFreeMemoryShare = 0.9;

class LoadedLocalModel final : public engine::LoadedModel {
 public:
  LoadedLocalModel(LocalModel model, const ModelChoice& choice, const EngineOptions& options)
      : model_(std::move(model)), choice_(choice), options_(options) {}

  llm::Backend& backend() override { return *model_.backend; }
  uint64_t bytes() const override { return memory_of(model_, choice_, options_); }

 private:
  const LocalModel model_;
  const ModelChoice& choice_;
  const EngineOptions& options_;
};

// Identifies the weights, Windrow and the library that computes.
std::string fingerprint_of(const std::string& path, const std::string& version,
                           const std::string& runtime) {
  constexpr size_t kDigits = 10;
  const Result<std::string> identity = model_identity(path);
  if (!identity) return "";  // the file was moved or deleted
  const std::string text = fmt::format("{}\n{}\n{}", *identity, version, runtime);
  return "fp_" + to_hex(hash64(text)).substr(0, kDigits);
}

// Clients do not learn where a file is.
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

}  // namespace

Result<std::vector<engine::ModelId>> models_to_load_first(
    const PoolOptions& pool, std::span<const engine::ModelNeeds> models,
    std::span<const std::string> names, uint64_t memory_bytes) {
  std::vector<engine::ModelId> first;
  std::vector<std::string> named;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < models.size(); ++i) {
    if (!pool.pinned[i] && (pool.loads_first.empty() || !pool.loads_first[i])) continue;
    first.emplace_back(i);
    named.push_back(names[i]);
    bytes += models[i].bytes;
  }
  if (memory_bytes > 0 && first.size() > 1 && bytes > memory_bytes) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format(
            "{} do not fit together: they need about {}, and there are {}; keep or load fewer at "
            "the start, or give them a smaller --ctx or more --memory",
            fmt::join(named, ", "), human_bytes(bytes), human_bytes(memory_bytes))};
  }
  if (!pool.loads_first.empty()) return first;
  return engine::default_first_models(models, memory_bytes);
}

// A model of the manager, as pages and metrics see it.
class LocalServerFleet::Residency final : public llm::ModelResidency {
 public:
  Residency(engine::ModelManager& manager, uint32_t index) : manager_(manager), id_(index) {}

  llm::ModelStatus status() const override { return manager_.status(id_); }
  void load() override { manager_.load(id_); }

  llm::UnloadResult unload() override { return manager_.unload(id_); }
  void unload_when_unused() override { manager_.unload_when_unused(id_); }

 private:
  engine::ModelManager& manager_;
  const engine::ModelId id_;
};

LocalServerFleet::LocalServerFleet(ModelSource source, LocalFleetOptions options,
                                   const Clock& clock, FleetEvents& events)
    : source_(std::move(source)), options_(std::move(options)), clock_(clock), events_(events) {}

LocalServerFleet::~LocalServerFleet() = default;

Result<void> LocalServerFleet::start_library() {
  if (std::ranges::all_of(choices(), is_simulated)) return {};
  Result<std::unique_ptr<engine::LlamaLibrary>> library =
      engine::LlamaLibrary::start(options_.engine.backends_folder, options_.engine.rpc_workers);
  if (!library) return library.error();
  library_ = *std::move(library);
  return {};
}

// 0: there is no limit.
Result<uint64_t> LocalServerFleet::memory_of_devices() const {
  if (!library_) return 0;
  const std::vector<engine::Device> devices = library_->devices();
  const Result<engine::ChosenDevices> chosen =
      engine::choose_devices(devices, options_.engine.devices);
  if (!chosen) return chosen.error();
  std::vector<uint64_t> free_bytes;
  for (const size_t holder : chosen->holders)
    free_bytes.push_back(devices[holder].memory_free_bytes);
  const auto free = static_cast<double>(engine::shared_free_bytes(free_bytes, chosen->shares));
  return static_cast<uint64_t>(kFreeMemoryShare * free);
}

Result<std::vector<ModelEstimate>> LocalServerFleet::estimate_models(uint64_t memory_bytes) const {
  std::vector<ModelHeader> headers;
  std::vector<uint64_t> least;
  for (const ModelChoice& choice : choices()) {
    Result<ModelHeader> header = read_model_header(library_.get(), choice);
    if (!header) return header.error();
    least.push_back(model_estimate(*header, choice, options_.engine, 1).bytes);
    headers.push_back(*std::move(header));
  }
  std::vector<ModelEstimate> estimates;
  estimates.reserve(headers.size());
  for (size_t i = 0; i < headers.size(); ++i) {
    estimates.push_back(model_estimate(headers[i], choices()[i], options_.engine,
                                       context_memory(least, i, memory_bytes)));
  }
  return estimates;
}

void LocalServerFleet::report(const engine::ModelEvent& event) const {
  using Kind = engine::ModelEvent::Kind;
  switch (event.kind) {
    case Kind::kLoading:
      break;
    case Kind::kLoaded:
      events_.note(fmt::format("{} is loaded after {} and takes {}", event.name,
                               human_duration(event.took), human_bytes(event.bytes)));
      break;
    case Kind::kFailed:
      events_.warn(fmt::format("{} cannot be loaded: {}", event.name, event.why));
      break;
    case Kind::kUnloaded:
      events_.note(fmt::format("{} is unloaded", event.name));
      break;
  }
}

engine::ManagedModel LocalServerFleet::managed_model(size_t index, const LoadOptions& how) const {
  const ModelChoice& choice = choices()[index];
  engine::ManagedModel model{
      .name = names_[index],
      .needs = {.bytes = estimates_[index].bytes, .pinned = local_.pool.pinned[index]},
      .in_flight_target = options_.engine.rows_max};
  model.check = [this, &choice] { return check_loadable(library_.get(), choice); };
  model.load = [this, &choice,
                how](std::stop_token unwanted) -> Result<std::unique_ptr<engine::LoadedModel>> {
    LoadOptions here = how;
    here.unwanted = std::move(unwanted);
    Result<LocalModel> loaded = load_model(library_.get(), choice, options_.engine, here, clock_);
    if (!loaded) return loaded.error();
    if (Result<void> ready = open_likely_contexts(*loaded); !ready) return ready.error();
    return std::make_unique<LoadedLocalModel>(*std::move(loaded), choice, options_.engine);
  };
  model.client_message = [&choice](const Error& error) {
    return without_path(error.message, choice);
  };
  return model;
}

void LocalServerFleet::add_dispatcher(size_t index) {
  dispatch::DispatchOptions options{.waiting_max = options_.queue_max,
                                    .reserve = queueing::kServerReserve,
                                    .coalesce = options_.single_flight,
                                    .slots_by_rows = true};
  // Not many more in flight than the model has rows: a request that arrives later with a higher
  // priority, or of a tenant with less service, would queue behind all that wait in the model.
  if (!estimates_[index].abilities.embeds_first) {
    options.in_flight_max = options_.engine.rows_max;
    options.reserve.batch_is_preemptible = true;
  }
  const auto id = engine::ModelId(static_cast<uint32_t>(index));
  residencies_.push_back(std::make_shared<Residency>(*manager_, id.value()));
  dispatchers_.push_back(
      std::make_unique<dispatch::Dispatcher>(manager_->backend(id), std::move(options)));
}

Result<void> LocalServerFleet::open(const ServerStart& start) {
  Result<LocalModels> local = source_();
  if (!local) return local.error();
  local_ = *std::move(local);
  for (const ModelChoice& choice : choices())
    names_.push_back(served_name(choice));
  if (Result<void> started = start_library(); !started) return started.error();
  for (const ModelChoice& choice : choices())
    tokenizers_.push_back(lazy_tokenizer(library_.get(), choice, clock_));

  const Result<uint64_t> of_devices = memory_of_devices();
  if (!of_devices) return of_devices.error();
  const uint64_t memory_bytes =
      local_.pool.memory_bytes > 0 ? local_.pool.memory_bytes : *of_devices;
  Result<std::vector<ModelEstimate>> estimates = estimate_models(memory_bytes);
  if (!estimates) return estimates.error();
  estimates_ = *std::move(estimates);
  std::vector<engine::ModelNeeds> needs;
  needs.reserve(names_.size());
  for (size_t i = 0; i < names_.size(); ++i)
    needs.push_back({.bytes = estimates_[i].bytes, .pinned = local_.pool.pinned[i]});
  const Result<std::vector<engine::ModelId>> first =
      models_to_load_first(local_.pool, needs, names_, memory_bytes);
  if (!first) return first.error();

  LoadOptions how{.serving = true,
                  .step_observer = start.step_observer,
                  .arriving = start.arriving,
                  .warn = [this](const std::string& text) { events_.warn(text); },
                  .thread = std::make_shared<engine::DeviceThread>(clock_)};
  std::vector<engine::ManagedModel> models;
  models.reserve(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    how.memory_bytes = estimates_[i].context_memory_bytes;
    models.push_back(managed_model(i, how));
  }
  engine::ModelManagerOptions options{
      .cache = {.bytes_max = memory_bytes, .unload_idle = options_.unload_idle}, .on_event = {}};
  if (names_.size() > 1)
    options.on_event = [this](const engine::ModelEvent& event) { report(event); };
  manager_ = std::make_unique<engine::ModelManager>(std::move(models), std::move(options), clock_);
  for (size_t i = 0; i < names_.size(); ++i)
    add_dispatcher(i);
  if (Result<void> loaded = manager_->load_first(*first); !loaded) return loaded.error();
  opened_ = true;
  return {};
}

std::vector<FleetModel> LocalServerFleet::models() const {
  std::vector<FleetModel> list;
  for (size_t i = 0; i < names_.size(); ++i) {
    FleetModel model{.name = names_[i],
                     .aliases = {},
                     .any = choices()[i].name.empty(),
                     .dispatcher = dispatchers_[i].get(),
                     .endpoints = estimates_[i].abilities.endpoints,
                     .created_unix_s = clock_.unix_seconds(),
                     .context_tokens = estimates_[i].context_tokens,
                     .vocabulary_size = estimates_[i].vocabulary_size,
                     .fingerprint = fingerprint_of(choices()[i].path, options_.version, runtime()),
                     .owner = "windrow",
                     .residency = residencies_[i],
                     .tokenizer = tokenizers_[i]};
    for (const auto& [alias, name] : local_.aliases) {
      if (name == names_[i]) model.aliases.push_back(alias);
    }
    list.push_back(std::move(model));
  }
  return list;
}

std::vector<FleetReading> LocalServerFleet::readings() const {
  std::vector<FleetReading> list;
  if (!opened_) return list;
  for (uint32_t i = 0; i < names_.size(); ++i) {
    list.push_back({.name = names_[i],
                    .stats = manager_->backend(engine::ModelId(i)).stats(),
                    .queue = dispatchers_[i]->queue(),
                    .dispatch = dispatchers_[i]->counts(),
                    .model = residencies_[i]->status(),
                    .upstreams = {}});
  }
  return list;
}

std::string LocalServerFleet::runtime() const {
  return library_ ? engine::LlamaLibrary::version() : "simulated";
}

}  // namespace windrow::fleet
