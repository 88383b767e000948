// DeviceThread: the one thread that touches models. libllama's threads wait for each other by
// spinning, so two passes at a time on the same cores are many times slower than one after the
// other. Whatever computes passes (generation, embeddings, reranking; of one model or of several)
// is an occupant of it and has its turns (round_robin.h). A machine with several devices may have
// one for each; models on the same cores or the same device share one.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "engine/host/round_robin.h"

namespace windrow::engine {

// Its methods are called on the engine thread alone.
class DeviceTask {
 public:
  virtual ~DeviceTask() = default;

  // Runs one pass at most. What came in before it was woken last is there to be seen.
  virtual Next take_turn(const Turn& turn) = 0;

  // It leaves: ends what is unfinished. There is no turn afterwards.
  virtual void end() = 0;
};

// Thread-safe. Every occupant has left before it ends.
class DeviceThread {
 public:
  // `clock` must outlive it.
  explicit DeviceThread(const Clock& clock);
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // The occupant has its first turn soon. `patience` as in RoundRobin::join.
  SeatId join(DeviceTask& occupant, std::optional<Duration> patience);

  // Returns when end() has; not to be called on the engine thread, which would wait for itself.
  void leave(SeatId seat);

  // There is something to run. Never blocks on a pass.
  void wake(SeatId seat);

 private:
  void run();
  void end_those_who_leave(std::unique_lock<std::mutex>& lock);
  void wait(std::unique_lock<std::mutex>& lock);

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;  // for the thread
  std::condition_variable left_;     // for those who leave
  RoundRobin turns_;
  std::map<SeatId, DeviceTask*> occupants_;
  std::set<SeatId> leaving_;
  bool news_ = false;  // since the thread last looked
  bool closing_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace windrow::engine
