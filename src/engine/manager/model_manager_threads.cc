// The two threads of a ModelManager.
#include <utility>

#include "base/ensure.h"
#include "engine/manager/model_manager.h"

namespace windrow::engine {
namespace {

// Without the readings of a moment that is over.
llm::BackendStats counters_of(llm::BackendStats stats) {
  stats.rows_running = 0;
  stats.rows_waiting = 0;
  stats.cells_used = 0;
  stats.cells_resting = 0;
  stats.cells_max = 0;
  stats.device_bytes_used = 0;
  stats.device_bytes_max = 0;
  return stats;
}

}  // namespace

// --- the thread that looks after those who wait -------------------------------------------------

void ModelManager::look_after() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!released_.empty()) {
      Released released = std::move(released_.front());
      released_.pop_front();
      lock.unlock();
      set_waits(released.call.call(), false);
      if (released.failure) {
        std::move(released.call).end(*std::move(released.failure));
      } else {
        auto [call, done] = std::move(released.call).release();
        pass_on(released.model, std::move(call), std::move(done));
      }
      lock.lock();
      continue;
    }
    if (released_all_) return;
    const TimePoint now = clock_.now();
    release_late(now);
    PoolActions actions;
    pool_.tick(now, actions);
    note(actions);
    if (!released_.empty()) continue;
    news_ = false;
    sleeps_until_ = next_at(now);
    const auto heard = [this] { return news_ || released_all_; };
    if (sleeps_until_) {
      released_came_.wait_for(lock, *sleeps_until_ - now, heard);
    } else {
      released_came_.wait(lock, heard);
    }
  }
}

// --- the thread that loads ----------------------------------------------------------------------

void ModelManager::fetch_and_carry() {
  std::unique_lock lock(mutex_);
  while (true) {
    errand_came_.wait(lock, [this] { return closing_ || !errands_.empty(); });
    if (closing_) return;
    const PoolAction errand = errands_.front();
    errands_.pop_front();
    switch (errand.kind) {
      case PoolAction::Kind::kLook:
        look_at_one(errand.model, lock);
        break;
      case PoolAction::Kind::kLoad:
        load_one(errand.model, lock);
        break;
      case PoolAction::Kind::kUnload:
        unload_one(errand.model, lock);
        break;
      case PoolAction::Kind::kLetIn:
      case PoolAction::Kind::kRefuse:
        ENSURE(false, "an errand is neither a look, a load nor an unload");
    }
    changed_.notify_all();
  }
}

// It failed, before or while it was loaded. Its news.
KeeperNews ModelManager::failed(PooledModelId id, const Error& error) {
  State& state = at(id);
  state.error = error;
  ++state.counts.loads_failed;
  PoolActions actions;
  pool_.load_failed(clock_.now(), id, actions);
  note(actions);
  return {.kind = KeeperNews::Kind::kFailed, .name = state.model.name, .why = error.message};
}

void ModelManager::look_at_one(PooledModelId id, std::unique_lock<std::mutex>& lock) {
  const State& state = at(id);
  lock.unlock();
  const Result<void> looked = state.model.look ? state.model.look() : Result<void>();
  lock.lock();
  if (looked) {
    PoolActions actions;
    pool_.looked(clock_.now(), id, actions);
    note(actions);
    return;
  }
  const KeeperNews news = failed(id, looked.error());
  lock.unlock();
  tell(news);
  lock.lock();
}

void ModelManager::load_one(PooledModelId id, std::unique_lock<std::mutex>& lock) {
  State& state = at(id);
  state.loading_since = clock_.now();
  KeeperNews news{.kind = KeeperNews::Kind::kLoading, .name = state.model.name};
  lock.unlock();
  tell(news);
  Result<std::unique_ptr<LoadedModel>> loaded = state.model.load(unwanted_.get_token());
  const uint64_t bytes = loaded ? (*loaded)->bytes() : 0;
  lock.lock();
  const TimePoint now = clock_.now();
  if (loaded) {
    PoolActions actions;
    news.took = now - state.loading_since;
    state.loaded = *std::move(loaded);
    ++state.times;
    ++state.counts.loads;
    state.last_load = news.took;
    state.counts.load_seconds += seconds(news.took);
    state.error.reset();
    news.kind = KeeperNews::Kind::kLoaded;
    news.bytes = bytes;
    pool_.loaded(now, id, bytes, actions);
    note(actions);
  } else {
    news = failed(id, loaded.error());
    news.took = now - state.loading_since;
  }
  lock.unlock();
  tell(news);
  lock.lock();
}

void ModelManager::unload_one(PooledModelId id, std::unique_lock<std::mutex>& lock) {
  State& state = at(id);
  changed_.wait(lock, [&] { return state.readers == 0; });
  std::unique_ptr<LoadedModel> leaving = std::move(state.loaded);
  state.in_flight_target = leaving->backend().in_flight_target();
  state.gone += counters_of(leaving->backend().stats());
  const KeeperNews news{.kind = KeeperNews::Kind::kUnloaded,
                        .name = state.model.name,
                        .bytes = pool_.status(id).memory_bytes};
  lock.unlock();
  leaving.reset();
  lock.lock();
  ++state.counts.unloads;
  PoolActions actions;
  pool_.unloaded(clock_.now(), id, actions);
  note(actions);
  lock.unlock();
  tell(news);
  lock.lock();
}

void ModelManager::tell(const KeeperNews& news) const {
  if (options_.on_news && !unwanted_.stop_requested()) options_.on_news(news);
}

}  // namespace windrow::engine
