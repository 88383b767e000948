#include "engine/manager/model_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// The Retry-After of a call for a model whose load takes a time that is not known.
constexpr Duration kSoon = std::chrono::seconds(5);

// What a model prepared, with the number of that load: the model may be unloaded since.
struct ReadAheadOfLoad final : llm::ReadAhead {
  ReadAheadOfLoad(uint64_t by_load, std::shared_ptr<const llm::ReadAhead> by_model)
      : load(by_load), made(std::move(by_model)) {}

  const uint64_t load;
  const std::shared_ptr<const llm::ReadAhead> made;
};

std::vector<ModelNeeds> needs_of(const std::vector<ManagedModel>& models) {
  std::vector<ModelNeeds> needs;
  needs.reserve(models.size());
  for (const ManagedModel& model : models)
    needs.push_back(model.needs);
  return needs;
}

Requester requester_of(const llm::BackendCall& call) {
  return call.priority == llm::Priority::kBatch ? Requester::kBatch : Requester::kClient;
}

int64_t retry_ms(Duration in) {
  return std::max<int64_t>(milliseconds(in), 1000);
}

}  // namespace

// The backend of a model, loaded or not.
class ModelManager::Handle final : public llm::Backend {
 public:
  Handle(ModelManager& manager, ModelId id) : manager_(manager), id_(id) {}

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request& request) override {
    SharedModel& shared = manager_.at(id_).shared;
    const SharedModel::Lease lease = shared.lease();
    if (!lease) return nullptr;
    std::shared_ptr<const llm::ReadAhead> made = lease->read_ahead(request);
    if (!made) return nullptr;
    return std::make_shared<const ReadAheadOfLoad>(shared.loads(), std::move(made));
  }
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) override {
    return manager_.count_prompt(id_, request);
  }
  std::unique_ptr<llm::PrefixHold> hold(std::vector<int32_t> tokens) override {
    const SharedModel::Lease lease = manager_.at(id_).shared.lease();
    return lease ? lease->hold(std::move(tokens)) : nullptr;
  }
  void submit(llm::BackendCall call, Done done) override {
    manager_.submit(id_, std::move(call), std::move(done));
  }
  int32_t in_flight_target() const override { return manager_.at(id_).shared.in_flight_target(); }
  llm::BackendStats stats() const override {
    llm::BackendStats stats = manager_.at(id_).shared.stats();
    stats.rows_waiting += manager_.waiting_.size(id_);
    return stats;
  }

 private:
  ModelManager& manager_;
  const ModelId id_;
};

ModelManager::State::State(ManagedModel managed)
    : model(std::move(managed)), shared(model.in_flight_target) {}
ModelManager::State::~State() = default;

ModelManager::ModelManager(std::vector<ManagedModel> models, ModelManagerOptions options,
                           const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      policy_(needs_of(models), options_.cache),
      loader_(clock, options_.on_event),
      waiting_(models.size(),
               {.cancelled = [this](ModelId id, llm::PendingId call) { cancel(id, call); },
                .admit = [this](ModelId id, llm::BackendCall call,
                                Done done) { pass_on(id, std::move(call), std::move(done)); },
                .tick = [this] { tick(); }},
               clock) {
  for (ManagedModel& model : models) {
    const ModelId id(static_cast<uint32_t>(states_.size()));
    states_.emplace_back(std::move(model)).handle = std::make_unique<Handle>(*this, id);
  }
}

ModelManager::~ModelManager() {
  // Before the load is cancelled: its failure would refuse them. The policy must forget them, too:
  // a load that ends all the same would admit them.
  std::vector<WaitingCalls::Taken> waiting;
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    waiting = waiting_.take_all();
    policy_.forget_waiting();
  }
  for (WaitingCalls::Taken& call : waiting)
    WaitingCalls::end(std::move(call), cancelled());
  loader_.stop();
  waiting_.stop();
  std::vector<std::unique_ptr<LoadedModel>> loaded;
  loaded.reserve(states_.size());
  for (State& state : states_)
    loaded.push_back(state.shared.take());
  // What runs in a model ends with it.
  loaded.clear();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    for (uint32_t i = 0; i < states_.size(); ++i) {
      if (policy_.status(ModelId(i)).requests > 0) return false;
    }
    return true;
  });
}

llm::Backend& ModelManager::backend(ModelId model) {
  return *at(model).handle;
}

// --- for the operator of the server -------------------------------------------------------------

Result<void> ModelManager::load_first(std::span<const ModelId> models) {
  std::unique_lock lock(mutex_);
  for (const ModelId id : models) {
    const State& state = at(id);
    const TimePoint now = clock_.now();
    CacheActions actions;
    const uint64_t needed = policy_.bytes_used() + state.model.needs.bytes;
    const bool first = policy_.bytes_used() == 0;
    const bool fits = first || options_.cache.bytes_max == 0 || needed <= options_.cache.bytes_max;
    if (!fits && !state.model.needs.pinned) continue;
    const int64_t loads = state.counts.loads;
    const int64_t failed = state.counts.loads_failed;
    policy_.request_load(now, id, actions);
    apply(now, actions);
    changed_.wait(lock, [&] {
      return closing_ || state.counts.loads > loads || state.counts.loads_failed > failed;
    });
    if (closing_) return Error{ErrorKind::kUnavailable, "stopped while models were loaded"};
    if (state.counts.loads_failed > failed) return *state.error;
  }
  return {};
}

void ModelManager::load(ModelId model) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  policy_.request_load(now, model, actions);
  apply(now, actions);
}

llm::UnloadResult ModelManager::unload(ModelId model) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  const llm::UnloadResult result = policy_.request_unload(now, model, actions);
  apply(now, actions);
  return result;
}

void ModelManager::unload_when_unused(ModelId model) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  policy_.unload_when_unused(now, model, actions);
  apply(now, actions);
}

llm::ModelStatus ModelManager::status(ModelId model) const {
  const std::scoped_lock lock(mutex_);
  const State& state = at(model);
  llm::ModelStatus status = policy_.status(model);
  status.loads = state.counts.loads;
  status.loads_failed = state.counts.loads_failed;
  status.unloads = state.counts.unloads;
  status.load_seconds = state.counts.load_seconds;
  if (state.error) status.load_error = state.model.client_message(*state.error);
  return status;
}

uint64_t ModelManager::bytes_used() const {
  const std::scoped_lock lock(mutex_);
  return policy_.bytes_used();
}

void ModelManager::on_clock_advanced() {
  waiting_.wake_now();
}

// --- calls --------------------------------------------------------------------------------------

// Does not wait for a model that is not loaded, but has it loaded: a later call can count.
std::variant<int64_t, llm::Failure> ModelManager::count_prompt(ModelId id,
                                                               const llm::Request& request) {
  SharedModel::Lease lease;
  {
    const std::scoped_lock lock(mutex_);
    lease = at(id).shared.lease();
    if (!lease) {
      const TimePoint now = clock_.now();
      CacheActions actions;
      const Admission admission = policy_.try_request_load(now, id, actions);
      apply(now, actions);
      return admission == Admission::kRefused ? unavailable(id) : still_loading(id);
    }
  }
  return lease->count_prompt(request);
}

void ModelManager::submit(ModelId id, llm::BackendCall call, Done done) {
  if (call.is_cancelled()) {
    done(cancelled());
    return;
  }
  std::unique_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  const Admission admission = policy_.arrive(now, id, requester_of(call), actions);
  if (admission == Admission::kWaits) {
    // Before the actions are applied: they may admit it.
    const llm::PendingId waiting = waiting_.add(id, std::move(call), std::move(done));
    apply(now, actions);
    lock.unlock();
    waiting_.watch(id, waiting);
    return;
  }
  apply(now, actions);
  if (admission == Admission::kRefused) {
    llm::Failure refusal = unavailable(id);
    lock.unlock();
    return done(std::move(refusal));
  }
  lock.unlock();
  pass_on(id, std::move(call), std::move(done));
}

// An admitted call: its model stays until it ends. The lease is for the rest of submit, if it calls
// Done itself.
void ModelManager::pass_on(ModelId id, llm::BackendCall call, Done done) {
  SharedModel& shared = at(id).shared;
  const SharedModel::Lease lease = shared.lease();
  ENSURE(lease != nullptr, "{} has admitted a request and is not loaded", at(id).model.name);
  const auto ahead = std::dynamic_pointer_cast<const ReadAheadOfLoad>(call.read_ahead);
  call.read_ahead = ahead && ahead->load == shared.loads() ? ahead->made : nullptr;
  const Requester requester = requester_of(call);
  lease->submit(std::move(call),
                [this, id, requester, done = std::move(done)](llm::Outcome outcome) {
                  done(std::move(outcome));
                  ended(id, requester);
                });
}

void ModelManager::ended(ModelId id, Requester requester) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  // At the end of the manager the model is not there any more.
  if (const std::optional<uint64_t> bytes = at(id).shared.bytes())
    policy_.grew(now, id, *bytes, actions);
  policy_.end(now, id, requester, actions);
  apply(now, actions);
  if (closing_) changed_.notify_all();
}

// On the thread that stops a token of the call.
void ModelManager::cancel(ModelId id, llm::PendingId call) {
  std::optional<WaitingCalls::Taken> taken;
  {
    const std::scoped_lock lock(mutex_);
    taken = waiting_.take(id, call);
    if (!taken) return;
    const TimePoint now = clock_.now();
    CacheActions actions;
    policy_.stop_waiting(now, id, requester_of(taken->call()), actions);
    apply(now, actions);
  }
  WaitingCalls::end(*std::move(taken), cancelled());
}

void ModelManager::tick() {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  CacheActions actions;
  while (auto late = waiting_.take_late(now)) {
    const ModelId id = late->model;
    policy_.stop_waiting(now, id, requester_of(late->call.call()), actions);
    waiting_.refuse(*std::move(late), still_loading(id));
  }
  policy_.tick(now, actions);
  apply(now, actions);
  waiting_.tick_at(next_tick(now));
}

// --- with the lock ------------------------------------------------------------------------------

// What the policy decided at `now`. Its next tick is counted from the same time, so none is lost.
void ModelManager::apply(TimePoint now, const CacheActions& actions) {
  for (const CacheAction& action : actions) {
    switch (action.kind) {
      case CacheAction::Kind::kCheck:
      case CacheAction::Kind::kLoad:
      case CacheAction::Kind::kUnload:
        if (!closing_) begin(action);
        break;
      case CacheAction::Kind::kAdmit:
        waiting_.admit_all(action.model);
        break;
      case CacheAction::Kind::kRefuse:
        waiting_.refuse_all(action.model, unavailable(action.model));
        break;
    }
  }
  if (const std::optional<TimePoint> next = next_tick(now)) waiting_.wake_by(*next);
}

// The loader's results come without the lock.
void ModelManager::begin(const CacheAction& action) {
  const ModelId id = action.model;
  State& state = at(id);
  if (action.kind == CacheAction::Kind::kCheck) {
    loader_.check(state.model, [this, id](const Result<void>& result) {
      const std::scoped_lock lock(mutex_);
      if (!result) return load_failed(id, result.error());
      const TimePoint now = clock_.now();
      CacheActions actions;
      policy_.checked(now, id, actions);
      apply(now, actions);
    });
  } else if (action.kind == CacheAction::Kind::kLoad) {
    state.loading_since = clock_.now();
    loader_.load(state.model, [this, id](Result<ModelLoader::Loaded> result) {
      const std::scoped_lock lock(mutex_);
      if (!result) return load_failed(id, result.error());
      loaded(id, *std::move(result));
    });
  } else {
    loader_.unload(state.model, state.shared, policy_.status(id).memory_bytes, [this, id] {
      const std::scoped_lock lock(mutex_);
      ++at(id).counts.unloads;
      const TimePoint now = clock_.now();
      CacheActions actions;
      policy_.unloaded(now, id, actions);
      apply(now, actions);
    });
  }
}

void ModelManager::loaded(ModelId id, ModelLoader::Loaded result) {
  State& state = at(id);
  state.shared.put(std::move(result.model));
  ++state.counts.loads;
  state.counts.load_seconds += seconds(result.took);
  state.last_load = result.took;
  state.error.reset();
  const TimePoint now = clock_.now();
  CacheActions actions;
  policy_.loaded(now, id, result.bytes, actions);
  apply(now, actions);
  changed_.notify_all();
}

void ModelManager::load_failed(ModelId id, const Error& error) {
  State& state = at(id);
  state.error = error;
  ++state.counts.loads_failed;
  const TimePoint now = clock_.now();
  CacheActions actions;
  policy_.load_failed(now, id, actions);
  apply(now, actions);
  changed_.notify_all();
}

std::optional<TimePoint> ModelManager::next_tick(TimePoint now) const {
  const std::optional<TimePoint> change = policy_.next_at(now);
  const std::optional<TimePoint> late = waiting_.next_late();
  if (!change || !late) return change ? change : late;
  return std::min(*change, *late);
}

llm::Failure ModelManager::unavailable(ModelId id) const {
  const State& state = at(id);
  llm::Failure failure{.failure_class = llm::FailureClass::kBackend,
                       .status = 503,
                       .code = "model_unavailable",
                       .message = {},
                       .param = "model"};
  if (policy_.can_never_fit(id)) {
    failure.message = fmt::format(
        "the model {} needs {}, which is not there beside the models that are kept loaded",
        state.model.name, human_bytes(policy_.status(id).memory_bytes));
    failure.retry_after_ms = retry_ms(options_.cache.retry_after);
    return failure;
  }
  const std::optional<TimePoint> until = policy_.refused_until(id);
  const Duration again = until ? *until - clock_.now() : options_.cache.retry_after;
  failure.message =
      fmt::format("the model {} cannot be loaded: {}", state.model.name,
                  state.error ? state.model.client_message(*state.error) : "no reason is known");
  failure.retry_after_ms = retry_ms(again);
  return failure;
}

// kRequest: this process does not try again, because the call has waited as long as it may.
llm::Failure ModelManager::still_loading(ModelId id) const {
  const State& state = at(id);
  const bool loading = policy_.status(id).state == llm::LoadState::kLoading;
  const Duration left = loading && state.last_load > Duration{}
                            ? state.last_load - (clock_.now() - state.loading_since)
                            : kSoon;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 503,
          .code = "model_loading",
          .message = fmt::format(
              "the model {} is {}; try again later", state.model.name,
              loading ? "still being loaded" : "not loaded yet: others use the memory it needs"),
          .param = "model",
          .retry_after_ms = retry_ms(left)};
}

}  // namespace windrow::engine
