// VirtualThreads: threads that take turns. The code under simulation makes real threads, mutexes
// and condition variables; interposed_pthread.cc hands what it asks of them to one of these.
// Exactly one thread runs at a time. Each time it takes or gives back a mutex, notifies, waits,
// starts or joins a thread, the next one to run is drawn among those that can, so the same seed
// gives the same run, interleavings included. When no thread can run, time goes to the first moment
// that a thread waits for; when none waits for one, that is a deadlock.
//
//   run(body)          starts a "process": body and every thread it makes, until all have ended
//   kill_at, kill()    ends it as kill -9 would: its threads stand still for ever, with all locks
//                      they hold
//
// Follows FoundationDB's simulation (Zhou et al., SIGMOD 2021) and TigerBeetle's VOPR in having
// the whole program, its time and its faults in one deterministic process; Shuttle and loom in
// drawing interleavings at the operations of threads; and PCT (Burckhardt et al., ASPLOS 2010) in
// one of the ways to draw. It does not find races of plain memory, nor orders of atomics weaker
// than sequential consistency (ThreadSanitizer looks for those).
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "simulate/trace.h"
#include "simulate/turn.h"

namespace windrow::simulate {

// How the next thread is drawn.
enum class Interleaving : uint8_t {
  kAny,       // each with the same chance
  kSticky,    // the one that ran, mostly: long stretches, few switches
  kPriority,  // the one with the highest priority; these are drawn, and change a few times (PCT)
};

struct ThreadOptions {
  uint64_t seed = 1;
  Interleaving interleaving = Interleaving::kAny;

  // The chance of a wait to end without being notified, as POSIX allows.
  double spurious_wake = 0;

  // The time of a step: up to this, and now and then, with the chance `hiccup`, up to a second, as
  // on a busy machine. So a time that one thread waits for passes while others still run.
  Duration step_time_max = std::chrono::microseconds(2);
  double hiccup = 0;

  // Limits of one run; a longer one counts as a run that never ends.
  int64_t steps_max = 3'000'000;
  Duration time_max = std::chrono::hours(48);
};

enum class RunEnd : uint8_t {
  kEnded,        // the body returned, and before it every thread it had started
  kThreadsLeft,  // the body returned before a thread it had started
  kKilled,
  kDeadlock,  // every thread waits for another one
  kTooLong,   // steps_max or time_max
};

std::string_view to_string(RunEnd end);

// Runs may follow one another; time goes on between them. The public methods below are for the
// thread that made it while nothing runs, or for threads of a run, as each says.
class VirtualThreads {
 public:
  VirtualThreads(ThreadOptions options, Trace& trace);
  VirtualThreads(const VirtualThreads&) = delete;
  VirtualThreads& operator=(const VirtualThreads&) = delete;

  // Not from a thread of a run. `kill_at`: the step at which the process is killed. `each_step` is
  // called before each step by the running thread; it may neither lock nor wait.
  RunEnd run(std::function<void()> body, std::optional<int64_t> kill_at = {},
             std::function<void()> each_step = {});

  // What each thread waits for, one line each; after a run that did not end well.
  const std::string& standing() const { return standing_; }

  int64_t steps() const { return steps_; }  // of this run or the last one

  // The time that every clock of the C library has on threads of a run. Any thread.
  TimePoint now() const { return TimePoint(Duration(now_ns_)); }

  // --- on threads of a run ---

  // The object whose run the calling thread belongs to; nullptr on all other threads.
  static VirtualThreads* of_this_thread();

  // Counted from 1 in a run, in the order they were made; 0 outside.
  static uint64_t this_thread();

  // Another thread may run from here on.
  void point();

  [[noreturn]] void kill();

  // --- what POSIX asks; for interposed_pthread.cc, with its results ---

  int create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
             void* argument);
  int join(pthread_t thread, void** result);
  int lock(const void* mutex);
  int try_lock(const void* mutex);
  int unlock(const void* mutex);
  int wait(const void* condition, const void* mutex, std::optional<TimePoint> until);
  int notify(const void* condition, bool all);
  int wait_on(const int* address, int expected);  // as FUTEX_WAIT; notify wakes
  void rest_until(TimePoint time);
  TimePoint read_clock();

 private:
  enum class State : uint8_t { kRunnable, kMutex, kCondition, kJoin, kSleep, kEnded };

  struct Thread {
    VirtualThreads* world = nullptr;
    uint64_t number = 0;
    State state = State::kRunnable;
    const void* object = nullptr;  // what it waits for
    std::optional<int64_t> until_ns;
    bool timed_out = false;
    uint64_t priority = 0;

    pthread_t real{};
    void* (*start)(void*) = nullptr;
    void* argument = nullptr;
    Turn turn;
  };

  static void* begin(void* thread);
  static thread_local Thread* self_;
  static std::vector<std::unique_ptr<Thread>>& killed_threads();

  Thread& make_thread();
  void step(Thread& self, int what);
  void take(Thread& self, const void* mutex);
  void give_back(const void* mutex);
  void give_way(Thread& self);
  Thread* choose();
  bool wait_for_time();
  void wake_due();
  [[noreturn]] void stop_for_good(Thread& self, RunEnd end);
  void thread_ended(Thread& self);
  std::string describe() const;

  const ThreadOptions options_;
  Trace& trace_;
  Random random_;
  int64_t now_ns_;

  // State of the run:
  std::vector<std::unique_ptr<Thread>> threads_;
  std::unordered_map<const void*, Thread*> holders_;  // of mutexes that are taken
  Thread* running_ = nullptr;
  std::function<void()> body_;
  std::function<void()> each_step_;
  int64_t steps_ = 0;
  int64_t kill_at_ = INT64_MAX;
  int64_t began_ns_ = 0;
  std::vector<int64_t> priority_changes_;  // steps, the next one last
  uint64_t lowest_priority_ = 0;
  RunEnd end_ = RunEnd::kEnded;
  std::string standing_;
  Turn over_;
};

}  // namespace windrow::simulate
