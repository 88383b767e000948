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

Requester asker_of(const llm::Request& request) {
  return request.priority == llm::Priority::kBatch ? Requester::kBatch : Requester::kClient;
}

int64_t retry_ms(Duration in) {
  return std::max<int64_t>(milliseconds(in), 1000);
}

}  // namespace

// What those in front of a model see of it.
class ModelManager::Room final : public llm::Backend {
 public:
  Room(ModelManager& keeper, PooledModelId id) : keeper_(keeper), id_(id) {}

  void read_ahead(llm::Request& request) override { keeper_.read_ahead(id_, request); }
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) override {
    return keeper_.count_prompt(id_, request);
  }
  void submit(llm::Request request, Done done) override {
    keeper_.submit(id_, std::move(request), std::move(done));
  }
  void cancel_waiting() override { keeper_.cancel(id_, false); }
  void cancel_all() override { keeper_.cancel(id_, true); }
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
    state.room =
        std::make_unique<Room>(*this, PooledModelId(static_cast<uint32_t>(states_.size() - 1)));
    state.in_flight_target = model.in_flight_target;
    state.model = std::move(model);
  }
  carrier_ = std::jthread([this] { fetch_and_carry(); });
  caretaker_ = std::jthread([this] { look_after(); });
}

ModelManager::~ModelManager() {
  unwanted_.request_stop();
  for (uint32_t i = 0; i < states_.size(); ++i)
    cancel(PooledModelId(i), true);
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    errand_came_.notify_all();
    deed_came_.notify_all();
    // Who used them has gone, and may just be on the way out.
    changed_.wait(lock, [this] { return !is_used(); });
  }
  carrier_.join();
  caretaker_.join();
}

bool ModelManager::is_used() const {
  for (uint32_t i = 0; i < states_.size(); ++i) {
    if (states_[i].readers > 0 || pool_.reading(PooledModelId(i)).inside > 0) return true;
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

UnloadResult ModelManager::unload(PooledModelId model) {
  const std::scoped_lock lock(mutex_);
  PoolActions actions;
  const UnloadResult dismissal = pool_.dismiss(clock_.now(), model, actions);
  note(actions);
  return dismissal;
}

void ModelManager::unload_when_unused(PooledModelId model) {
  const std::scoped_lock lock(mutex_);
  PoolActions actions;
  pool_.dismiss_when_unused(clock_.now(), model, actions);
  note(actions);
}

ManagerReading ModelManager::reading(PooledModelId model) const {
  const std::scoped_lock lock(mutex_);
  ManagerReading reading = at(model).counts;
  static_cast<PoolReading&>(reading) = pool_.reading(model);
  if (const State& state = at(model); state.error)
    reading.error = state.model.in_words(*state.error);
  return reading;
}

uint64_t ModelManager::bytes_used() const {
  const std::scoped_lock lock(mutex_);
  return pool_.bytes_used();
}

void ModelManager::look_at_the_clock() {
  const std::scoped_lock lock(mutex_);
  news_ = true;
  deed_came_.notify_one();
}

// --- for those who ask --------------------------------------------------------------------------

void ModelManager::set_waits(const llm::Request& request, bool waits) {
  if (request.load_wait) request.load_wait->waits = waits;
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

void ModelManager::read_ahead(PooledModelId id, llm::Request& request) {
  llm::Backend* backend = nullptr;
  uint64_t times = 0;
  {
    const std::scoped_lock lock(mutex_);
    backend = use(id);
    times = at(id).times;
  }
  if (backend == nullptr) return;
  backend->read_ahead(request);
  stop_using(id);
  if (request.read_ahead)
    request.read_ahead = std::make_shared<const AheadInRoom>(times, std::move(request.read_ahead));
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

void ModelManager::submit(PooledModelId id, llm::Request request, Done done) {
  if (request.unwanted.stop_requested()) {
    done(cancelled());
    return;
  }
  std::unique_lock lock(mutex_);
  const TimePoint now = clock_.now();
  PoolActions actions;
  const Arrival arrival = pool_.arrive(now, id, asker_of(request), actions);
  if (arrival == Arrival::kWaits)
    return hold(id, std::move(request), std::move(done), actions, std::move(lock));
  note(actions);
  if (arrival == Arrival::kRefused) {
    llm::Failure refusal = unavailable(id, now);
    lock.unlock();
    return done(std::move(refusal));
  }
  lock.unlock();
  hand_over(id, std::move(request), std::move(done));
}

void ModelManager::hold(PooledModelId id, llm::Request request, Done done,
                        const PoolActions& actions, std::unique_lock<std::mutex> lock) {
  const uint64_t number = next_number_++;
  const std::stop_token unwanted = request.unwanted;
  set_waits(request, true);
  const std::optional<TimePoint> until =
      request.load_wait ? request.load_wait->until : std::nullopt;
  wait_limits_.add(until, {id, number});
  at(id).held.emplace(number,
                      Held{.request = std::move(request), .done = std::move(done), .until = until});
  note(actions);
  lock.unlock();
  if (!unwanted.stop_possible()) return;
  // It may be called here, at once; and who destroys it may have to wait for it.
  auto when_unwanted =
      std::make_unique<Held::WhenUnwanted>(unwanted, [this, id, number] { forget(id, number); });
  lock.lock();
  const auto found = at(id).held.find(number);
  if (found != at(id).held.end()) found->second.when_unwanted = std::move(when_unwanted);
  lock.unlock();
}

// It is inside, so its model stays.
void ModelManager::hand_over(PooledModelId id, llm::Request request, Done done) {
  llm::Backend* backend = nullptr;
  uint64_t times = 0;
  {
    const std::scoped_lock lock(mutex_);
    ENSURE(at(id).loaded != nullptr, "{} lets requests in and is not there", at(id).model.name);
    backend = &at(id).loaded->backend();
    times = at(id).times;
  }
  const auto ahead = std::dynamic_pointer_cast<const AheadInRoom>(request.read_ahead);
  request.read_ahead = ahead && ahead->times == times ? ahead->made : nullptr;
  const Requester asker = asker_of(request);
  backend->submit(std::move(request),
                  [this, id, asker, done = std::move(done)](llm::Outcome outcome) {
                    done(std::move(outcome));
                    ended(id, asker);
                  });
}

void ModelManager::ended(PooledModelId id, Requester asker) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  PoolActions actions;
  pool_.grew(now, id, at(id).loaded->bytes(), actions);
  pool_.end(now, id, asker, actions);
  note(actions);
  if (closing_) changed_.notify_all();
}

// By whoever does not want it any more, who may hold locks: it ends on a thread of ours.
void ModelManager::forget(PooledModelId id, uint64_t number) {
  const std::scoped_lock lock(mutex_);
  if (at(id).held.contains(number)) end_held(id, number, cancelled());
}

void ModelManager::cancel(PooledModelId id, bool all) {
  llm::Backend* backend = nullptr;
  std::vector<Held> held;
  {
    const std::scoped_lock lock(mutex_);
    // One at a time: those who are left may be let in when one leaves.
    while (!at(id).held.empty()) {
      held.push_back(take_held(id, at(id).held.begin()->first));
      PoolActions actions;
      pool_.leave(clock_.now(), id, asker_of(held.back().request), actions);
      note(actions);
    }
    const size_t left = held.size();
    for (Deed& deed : deeds_) {
      if (deed.model == id && !deed.failure) held.push_back(std::move(deed.held));
    }
    std::erase_if(deeds_, [&](const Deed& deed) { return deed.model == id && !deed.failure; });
    for (const Held& one : std::span(held).subspan(left)) {
      PoolActions actions;
      pool_.end(clock_.now(), id, asker_of(one.request), actions);
      note(actions);
    }
    backend = use(id);
  }
  for (Held& one : held) {
    one.when_unwanted.reset();
    set_waits(one.request, false);
    one.done(cancelled());
  }
  if (backend == nullptr) return;
  if (all) {
    backend->cancel_all();
  } else {
    backend->cancel_waiting();
  }
  stop_using(id);
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
  stats.rows_waiting += static_cast<int32_t>(state.held.size());
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
        state.model.name, human_bytes(pool_.reading(id).bytes));
    failure.retry_after_ms = retry_ms(options_.pool.retry_after);
    return failure;
  }
  const std::optional<TimePoint> until = pool_.reading(id).refused_until;
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
  const bool loading = pool_.reading(id).presence == Presence::kLoading;
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
        end_all_held(action.model, std::nullopt);
        break;
      case PoolAction::Kind::kRefuse:
        end_all_held(action.model, unavailable(action.model, clock_.now()));
        break;
    }
  }
  // Whoever comes and goes while all is well wakes nobody.
  const std::optional<TimePoint> next = next_at(clock_.now());
  const bool sooner = next && (!sleeps_until_ || *next < *sleeps_until_);
  if (deeds_.empty() && !sooner) return;
  news_ = true;
  deed_came_.notify_one();
}

ModelManager::Held ModelManager::take_held(PooledModelId id, uint64_t number) {
  Held held = std::move(at(id).held.extract(number).mapped());
  wait_limits_.remove(held.until, {id, number});
  return held;
}

void ModelManager::end_held(PooledModelId id, uint64_t number, llm::Failure failure) {
  Held held = take_held(id, number);
  const Requester asker = asker_of(held.request);
  deeds_.push_back({.model = id, .held = std::move(held), .failure = std::move(failure)});
  PoolActions actions;
  pool_.leave(clock_.now(), id, asker, actions);
  note(actions);
}

// Without a failure they are let in; the pool knows.
void ModelManager::end_all_held(PooledModelId id, const std::optional<llm::Failure>& failure) {
  while (!at(id).held.empty()) {
    Held held = take_held(id, at(id).held.begin()->first);
    deeds_.push_back({.model = id, .held = std::move(held), .failure = failure});
  }
}

void ModelManager::end_those_who_waited_too_long(TimePoint now) {
  while (const auto waiter = wait_limits_.take(now))
    end_held(waiter->model, waiter->number, still_loading(waiter->model, now));
}

std::optional<TimePoint> ModelManager::next_at(TimePoint now) const {
  std::optional<TimePoint> next = pool_.next_at(now);
  const std::optional<TimePoint> limit = wait_limits_.next();
  return limit && (!next || *limit < *next) ? limit : next;
}

}  // namespace windrow::engine
