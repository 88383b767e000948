#include "engine/manager/model_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// What those are told who ask for a model whose loading has no known length.
constexpr Duration kSoon = std::chrono::seconds(5);

// What was made ahead by a model that may have left since.
struct AheadInRoom final : llm::ReadAhead {
  AheadInRoom(uint64_t by_times, std::shared_ptr<const llm::ReadAhead> by_model)
      : times(by_times), made(std::move(by_model)) {}

  const uint64_t times;
  const std::shared_ptr<const llm::ReadAhead> made;
};

Requester asker_of(const llm::BackendCall& call) {
  return call.priority == llm::Priority::kBatch ? Requester::kBatch : Requester::kClient;
}

int64_t retry_ms(Duration in) {
  return std::max<int64_t>(milliseconds(in), 1000);
}

}  // namespace

// What those in front of a model see of it.
class ModelManager::Room final : public llm::Backend {
 public:
  Room(ModelManager& keeper, PooledModelId id) : keeper_(keeper), id_(id) {}

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request& request) override {
    return keeper_.read_ahead(id_, request);
  }
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) override {
    return keeper_.count_prompt(id_, request);
  }
  void submit(llm::BackendCall call, Done done) override {
    keeper_.submit(id_, std::move(call), std::move(done));
  }
  int32_t in_flight_target() const override { return keeper_.in_flight_target(id_); }
  llm::BackendStats stats() const override { return keeper_.stats(id_); }

 private:
  ModelManager& keeper_;
  const PooledModelId id_;
};

ModelManager::ModelManager(std::vector<KeptModel> models, KeeperOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      pool_(
          [&] {
            std::vector<PooledModelFacts> facts;
            facts.reserve(models.size());
            for (const KeptModel& model : models)
              facts.push_back(model.facts);
            return facts;
          }(),
          options_.pool) {
  for (KeptModel& model : models) {
    State& state = states_.emplace_back();
    const PooledModelId id(static_cast<uint32_t>(states_.size() - 1));
    state.room = std::make_unique<Room>(*this, id);
    state.pending = std::make_unique<llm::PendingRequests>(
        cancelled(), [this, id](llm::PendingId call) { cancel(id, call); });
    state.in_flight_target = model.in_flight_target;
    state.model = std::move(model);
  }
  carrier_ = std::jthread([this] { fetch_and_carry(); });
  caretaker_ = std::jthread([this] { look_after(); });
}

ModelManager::~ModelManager() {
  // Before the load is given up: that would refuse them.
  for (State& state : states_) {
    for (llm::PendingRequests::Taken& taken : state.pending->take_all()) {
      set_waits(taken.call(), false);
      std::move(taken).end(cancelled());
    }
  }
  unwanted_.request_stop();
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    errand_came_.notify_all();
    changed_.notify_all();
  }
  carrier_.join();
  {
    const std::scoped_lock lock(mutex_);
    released_all_ = true;
    released_came_.notify_all();
  }
  caretaker_.join();
  std::vector<std::unique_ptr<LoadedModel>> leaving;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return std::ranges::all_of(states_, [](const State& state) { return state.readers == 0; });
    });
    for (State& state : states_)
      leaving.push_back(std::move(state.loaded));
  }
  // What runs in a model ends with it.
  leaving.clear();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_used(); });
}

bool ModelManager::is_used() const {
  for (uint32_t i = 0; i < states_.size(); ++i) {
    if (pool_.status(PooledModelId(i)).requests > 0) return true;
  }
  return false;
}

llm::Backend& ModelManager::backend(PooledModelId model) {
  return *at(model).room;
}

// --- for those who run the server ---------------------------------------------------------------

Result<void> ModelManager::load_first(std::span<const PooledModelId> models) {
  std::unique_lock lock(mutex_);
  for (const PooledModelId id : models) {
    const State& state = at(id);
    PoolActions actions;
    const uint64_t needed = pool_.bytes_used() + state.model.facts.bytes;
    const bool first = pool_.bytes_used() == 0;
    const bool fits = first || options_.pool.bytes_max == 0 || needed <= options_.pool.bytes_max;
    if (!fits && !state.model.facts.pinned) continue;
    const int64_t loads = state.counts.loads;
    const int64_t failed = state.counts.loads_failed;
    pool_.want(clock_.now(), id, actions);
    note(actions);
    changed_.wait(lock, [&] {
      return closing_ || state.counts.loads > loads || state.counts.loads_failed > failed;
    });
    if (closing_) return Error{ErrorKind::kUnavailable, "stopped while models were loaded"};
    if (state.counts.loads_failed > failed) return *state.error;
  }
  return {};
}

void ModelManager::load(PooledModelId model) {
  const std::scoped_lock lock(mutex_);
  PoolActions actions;
  pool_.want(clock_.now(), model, actions);
  note(actions);
}

llm::UnloadResult ModelManager::unload(PooledModelId model) {
  const std::scoped_lock lock(mutex_);
  PoolActions actions;
  const llm::UnloadResult dismissal = pool_.dismiss(clock_.now(), model, actions);
  note(actions);
  return dismissal;
}

void ModelManager::unload_when_unused(PooledModelId model) {
  const std::scoped_lock lock(mutex_);
  PoolActions actions;
  pool_.dismiss_when_unused(clock_.now(), model, actions);
  note(actions);
}

llm::ModelStatus ModelManager::status(PooledModelId model) const {
  const std::scoped_lock lock(mutex_);
  const State& state = at(model);
  llm::ModelStatus status = pool_.status(model);
  status.loads = state.counts.loads;
  status.loads_failed = state.counts.loads_failed;
  status.unloads = state.counts.unloads;
  status.load_seconds = state.counts.load_seconds;
  if (state.error) status.load_error = state.model.in_words(*state.error);
  return status;
}

uint64_t ModelManager::bytes_used() const {
  const std::scoped_lock lock(mutex_);
  return pool_.bytes_used();
}

void ModelManager::look_at_the_clock() {
  const std::scoped_lock lock(mutex_);
  news_ = true;
  released_came_.notify_one();
}

// --- for those who ask --------------------------------------------------------------------------

void ModelManager::set_waits(const llm::BackendCall& call, bool waits) {
  if (call.load_wait) call.load_wait->waits = waits;
}

// With the lock; then stop_using. Null: it is not there.
llm::Backend* ModelManager::use(PooledModelId id) {
  State& state = at(id);
  if (state.loaded == nullptr) return nullptr;
  ++state.readers;
  return &state.loaded->backend();
}

void ModelManager::stop_using(PooledModelId id) {
  const std::scoped_lock lock(mutex_);
  if (--at(id).readers == 0) changed_.notify_all();
}

std::shared_ptr<const llm::ReadAhead> ModelManager::read_ahead(PooledModelId id,
                                                               const llm::Request& request) {
  llm::Backend* backend = nullptr;
  uint64_t times = 0;
  {
    const std::scoped_lock lock(mutex_);
    backend = use(id);
    times = at(id).times;
  }
  if (backend == nullptr) return nullptr;
  std::shared_ptr<const llm::ReadAhead> made = backend->read_ahead(request);
  stop_using(id);
  if (!made) return nullptr;
  return std::make_shared<const AheadInRoom>(times, std::move(made));
}

// Does not wait for a model that is not there, but has it loaded: who asks again will be told.
std::variant<int64_t, llm::Failure> ModelManager::count_prompt(PooledModelId id,
                                                               const llm::Request& request) {
  llm::Backend* backend = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    backend = use(id);
    if (backend == nullptr) {
      const TimePoint now = clock_.now();
      PoolActions actions;
      const Arrival arrival = pool_.ask(now, id, actions);
      note(actions);
      return arrival == Arrival::kRefused ? unavailable(id, now) : still_loading(id, now);
    }
  }
  auto counted = backend->count_prompt(request);
  stop_using(id);
  return counted;
}

void ModelManager::submit(PooledModelId id, llm::BackendCall call, Done done) {
  if (call.is_cancelled()) {
    done(cancelled());
    return;
  }
  std::unique_lock lock(mutex_);
  const TimePoint now = clock_.now();
  PoolActions actions;
  const Arrival arrival = pool_.arrive(now, id, asker_of(call), actions);
  if (arrival == Arrival::kWaits) {
    set_waits(call, true);
    llm::PendingRequests& pending = *at(id).pending;
    const llm::PendingId held = pending.add(std::move(call), std::move(done));
    note(actions);
    lock.unlock();
    pending.watch(held);
    return;
  }
  note(actions);
  if (arrival == Arrival::kRefused) {
    llm::Failure refusal = unavailable(id, now);
    lock.unlock();
    return done(std::move(refusal));
  }
  lock.unlock();
  pass_on(id, std::move(call), std::move(done));
}

// It is inside, so its model stays.
void ModelManager::pass_on(PooledModelId id, llm::BackendCall call, Done done) {
  llm::Backend* backend = nullptr;
  uint64_t times = 0;
  {
    const std::scoped_lock lock(mutex_);
    ENSURE(at(id).loaded != nullptr, "{} lets requests in and is not there", at(id).model.name);
    backend = &at(id).loaded->backend();
    times = at(id).times;
  }
  const auto ahead = std::dynamic_pointer_cast<const AheadInRoom>(call.read_ahead);
  call.read_ahead = ahead && ahead->times == times ? ahead->made : nullptr;
  const Requester asker = asker_of(call);
  backend->submit(std::move(call), [this, id, asker, done = std::move(done)](llm::Outcome outcome) {
    done(std::move(outcome));
    ended(id, asker);
  });
}

void ModelManager::ended(PooledModelId id, Requester asker) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  PoolActions actions;
  // At the end the model may be on its way out.
  if (at(id).loaded != nullptr) pool_.grew(now, id, at(id).loaded->bytes(), actions);
  pool_.end(now, id, asker, actions);
  note(actions);
  if (closing_) changed_.notify_all();
}

// On the thread that stops a token of the call.
void ModelManager::cancel(PooledModelId id, llm::PendingId call) {
  std::optional<llm::PendingRequests::Taken> taken;
  {
    const std::scoped_lock lock(mutex_);
    taken = at(id).pending->take(call);
    if (taken) stop_waiting(id, *taken);
  }
  if (!taken) return;
  set_waits(taken->call(), false);
  std::move(*taken).end(cancelled());
}

int32_t ModelManager::in_flight_target(PooledModelId id) const {
  const std::scoped_lock lock(mutex_);
  const State& state = at(id);
  return state.loaded ? state.loaded->backend().in_flight_target() : state.in_flight_target;
}

llm::BackendStats ModelManager::stats(PooledModelId id) const {
  const std::scoped_lock lock(mutex_);
  const State& state = at(id);
  llm::BackendStats stats = state.gone;
  if (state.loaded) stats += state.loaded->backend().stats();
  stats.rows_waiting += static_cast<int32_t>(state.pending->size());
  return stats;
}

// --- failures -----------------------------------------------------------------------------------

llm::Failure ModelManager::unavailable(PooledModelId id, TimePoint now) const {
  const State& state = at(id);
  llm::Failure failure{.failure_class = llm::FailureClass::kBackend,
                       .status = 503,
                       .code = "model_unavailable",
                       .message = {},
                       .param = "model"};
  if (pool_.has_no_place(id)) {
    failure.message = fmt::format(
        "the model {} needs {}, which is not there beside the models that are kept loaded",
        state.model.name, human_bytes(pool_.status(id).memory_bytes));
    failure.retry_after_ms = retry_ms(options_.pool.retry_after);
    return failure;
  }
  const std::optional<TimePoint> until = pool_.refused_until(id);
  const Duration again = until ? *until - now : options_.pool.retry_after;
  failure.message =
      fmt::format("the model {} cannot be loaded: {}", state.model.name,
                  state.error ? state.model.in_words(*state.error) : "no reason is known");
  failure.retry_after_ms = retry_ms(again);
  return failure;
}

// Not a matter of trying again here: who asked has waited for as long as it may.
llm::Failure ModelManager::still_loading(PooledModelId id, TimePoint now) const {
  const State& state = at(id);
  const bool loading = pool_.status(id).state == llm::LoadState::kLoading;
  const Duration left = loading && state.last_load > Duration{}
                            ? state.last_load - (now - state.loading_since)
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

// --- with the lock ------------------------------------------------------------------------------

void ModelManager::note(const PoolActions& actions) {
  for (const PoolAction& action : actions) {
    switch (action.kind) {
      case PoolAction::Kind::kLook:
      case PoolAction::Kind::kLoad:
      case PoolAction::Kind::kUnload:
        errands_.push_back(action);
        errand_came_.notify_one();
        break;
      case PoolAction::Kind::kLetIn:
        release_all(action.model, std::nullopt);
        break;
      case PoolAction::Kind::kRefuse:
        release_all(action.model, unavailable(action.model, clock_.now()));
        break;
    }
  }
  // Whoever comes and goes while all is well wakes nobody.
  const std::optional<TimePoint> next = next_at(clock_.now());
  const bool sooner = next && (!sleeps_until_ || *next < *sleeps_until_);
  if (released_.empty() && !sooner) return;
  news_ = true;
  released_came_.notify_one();
}

void ModelManager::stop_waiting(PooledModelId id, const llm::PendingRequests::Taken& call) {
  PoolActions actions;
  pool_.leave(clock_.now(), id, asker_of(call.call()), actions);
  note(actions);
}

// Without a failure they are let in; the pool knows.
void ModelManager::release_all(PooledModelId id, const std::optional<llm::Failure>& failure) {
  for (llm::PendingRequests::Taken& taken : at(id).pending->take_all())
    released_.push_back({.model = id, .call = std::move(taken), .failure = failure});
}

// Ends calls that have waited for as long as they may.
void ModelManager::release_late(TimePoint now) {
  for (uint32_t i = 0; i < states_.size(); ++i) {
    const PooledModelId id(i);
    while (auto taken = at(id).pending->take_late(now)) {
      stop_waiting(id, *taken);
      released_.push_back(
          {.model = id, .call = *std::move(taken), .failure = still_loading(id, now)});
    }
  }
}

std::optional<TimePoint> ModelManager::next_at(TimePoint now) const {
  std::optional<TimePoint> next = pool_.next_at(now);
  for (const State& state : states_) {
    const std::optional<TimePoint> late = state.pending->next_late();
    if (late && (!next || *late < *next)) next = late;
  }
  return next;
}

}  // namespace windrow::engine
