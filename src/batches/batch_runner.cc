#include "batches/batch_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/uncaught.h"

namespace windrow::batches {
namespace {

// Polling, because a clock that a test moves cannot wake a thread.
constexpr std::chrono::milliseconds kLookInterval{100};

constexpr Duration kSweepInterval = std::chrono::seconds(60);
constexpr Duration kSaveInterval = std::chrono::seconds(5);
constexpr Duration kObserveInterval = std::chrono::seconds(1);

bool is_due(std::optional<TimePoint>& last, TimePoint now, Duration interval) {
  if (last && now - *last < interval) return false;
  last = now;
  return true;
}

}  // namespace

BatchRunner::BatchRunner(const BatchStages::World& world)
    : world_(world),
      stages_(world),
      turns_(world.options.running_max,
             {.waits_for_model =
                  [this](const std::string& model) { return world_.models.is_waited_for(model); },
              .lacks_key =
                  [this](const BatchRecord& record) { return world_.live.lacks_key(record); }}),
      clock_thread_([this] { run(); }) {}

BatchRunner::~BatchRunner() {
  stop(Duration{});
}

void BatchRunner::stop(Duration grace) {
  const std::vector<std::shared_ptr<BatchJob>> jobs = world_.live.begin_stop(world_.live.lock());
  for (const auto& job : jobs)
    job->stop();
  if (clock_thread_.joinable()) clock_thread_.join();
  const TimePoint grace_over = world_.clock.now() + grace;
  Lock lock = world_.live.lock();
  const auto all_ended = [this] {
    return std::ranges::all_of(workers_, [](const Worker& worker) { return worker.ended; });
  };
  while (!all_ended() && world_.clock.now() < grace_over)
    world_.live.wait(lock, kLookInterval);
  lock.unlock();
  for (const auto& job : jobs)
    job->stop_now();
  lock.lock();
  while (!all_ended())
    world_.live.wait(lock);
  lock.unlock();
  join_ended();
}

// --- the clock's thread ------------------------------------------------------------------------

void BatchRunner::run() {
  for (;;) {
    bool sweeps = false;
    {
      Lock lock = world_.live.lock();
      if (world_.live.is_stopping(lock)) return;
      const TimePoint now = world_.clock.now();
      world_.live.expire_overdue(lock);
      if (is_due(observed_at_, now, kObserveInterval)) world_.live.observe_progress();
      if (is_due(saved_at_, now, kSaveInterval)) world_.live.save_all_counts(lock);
      start_what_may(lock);
      sweeps = is_due(swept_at_, now, kSweepInterval);
      world_.live.wait(lock, kLookInterval);
    }
    join_ended();
    if (!sweeps) continue;
    if (const Result<int64_t> removed = world_.files.remove_expired(); !removed)
      world_.options.warn(removed.error().message);
  }
}

void BatchRunner::start_what_may(const Lock& lock) {
  const TimePoint now = world_.clock.now();
  const std::map<int64_t, LiveBatchPtr>& all = world_.live.all(lock);
  std::vector<TurnCandidate> candidates;
  candidates.reserve(all.size());
  for (const auto& [number, batch] : all) {
    candidates.push_back({.record = &batch->record,
                          .working = batch->working,
                          .running = batch->running,
                          .held_back = batch->not_before && now < *batch->not_before,
                          .interruptible = batch->lines != nullptr});
  }
  const TurnDecision decision = turns_.next(std::move(candidates), now);
  for (const int64_t number : decision.close)
    start(lock, all.at(number), &BatchStages::close);
  if (decision.interrupt) interrupt_validation(lock, *all.at(*decision.interrupt));
  if (decision.validate) {
    all.at(*decision.validate)->note.clear();
    start(lock, all.at(*decision.validate), &BatchStages::validate);
  }
  for (const int64_t number : decision.run) {
    all.at(number)->running = true;
    start(lock, all.at(number), &BatchStages::run_rows);
  }
}

void BatchRunner::interrupt_validation(const Lock&, LiveBatch& batch) {
  batch.interrupted = true;
  batch.note = "its file takes long to read; batches that came later are validated first";
  batch.lines->interrupt();
}

void BatchRunner::start(const Lock&, const LiveBatchPtr& batch, Stage stage) {
  batch->working = true;
  Worker& worker = workers_.emplace_back();
  worker.thread = std::thread([this, batch, stage, &worker] { work(batch, stage, worker); });
}

void BatchRunner::join_ended() {
  std::list<Worker> ended;
  {
    const Lock lock = world_.live.lock();
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      const auto next = std::next(worker);
      if (worker->ended) ended.splice(ended.end(), workers_, worker);
      worker = next;
    }
  }
  for (Worker& worker : ended)
    worker.thread.join();
}

// --- a worker's thread -------------------------------------------------------------------------

void BatchRunner::work(const LiveBatchPtr& batch, Stage stage, Worker& worker) {
  // An uncaught exception ends the process; the next one continues from what is on disk.
  try {
    (stages_.*stage)(*batch);
  } catch (const std::exception& error) {
    end_on(error, "the thread of a batch");
  }
  const Lock lock = world_.live.lock();
  batch->working = false;
  if (stage == &BatchStages::validate) turns_.validation_ended();
  world_.live.remove_if_ended(lock, *batch);
  worker.ended = true;
  world_.live.notify(lock);
}

}  // namespace windrow::batches
