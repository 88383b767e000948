#include "simulate/virtual_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/ensure.h"
#include "simulate/real_pthread.h"

namespace windrow::simulate {
namespace {

// The kinds of steps, for the trace.
enum Step : int { kCreate, kJoin, kLock, kTryLock, kUnlock, kWait, kNotify, kSleep, kPoint, kEnd };

// Not 0, so that a moment before the start of a run is still a time.
constexpr int64_t kStartNs = 1'000'000'000'000;

// Each reading moves the clock, or a thread that waits by reading it would wait for ever.
constexpr int64_t kReadNs = 20;

constexpr double kStay = 0.95;
constexpr size_t kPriorityChanges = 8;
constexpr int64_t kPriorityChangeBits = 15;

}  // namespace

thread_local VirtualThreads::Thread* VirtualThreads::self_ = nullptr;

// They stand there for ever, and so does what they stand on.
std::vector<std::unique_ptr<VirtualThreads::Thread>>& VirtualThreads::killed_threads() {
  static auto* const threads = std::make_unique<std::vector<std::unique_ptr<Thread>>>().release();
  return *threads;
}

std::string_view to_string(RunEnd end) {
  switch (end) {
    case RunEnd::kEnded:
      return "ended";
    case RunEnd::kThreadsLeft:
      return "left threads behind";
    case RunEnd::kKilled:
      return "killed";
    case RunEnd::kDeadlock:
      return "deadlock";
    case RunEnd::kTooLong:
      return "went on for too long";
  }
  return "";
}

VirtualThreads::VirtualThreads(ThreadOptions options, Trace& trace)
    : options_(options), trace_(trace), random_(options.seed), now_ns_(kStartNs) {}

VirtualThreads* VirtualThreads::of_this_thread() {
  return self_ == nullptr ? nullptr : self_->world;
}

uint64_t VirtualThreads::this_thread() {
  return self_ == nullptr ? 0 : self_->number;
}

// --- a run ------------------------------------------------------------------------------------

RunEnd VirtualThreads::run(std::function<void()> body, std::optional<int64_t> kill_at,
                           std::function<void()> each_step) {
  ENSURE(self_ == nullptr, "a run is not started from within one");
  body_ = std::move(body);
  each_step_ = std::move(each_step);
  steps_ = 0;
  kill_at_ = kill_at.value_or(INT64_MAX);
  began_ns_ = now_ns_;
  threads_.clear();
  holders_.clear();
  end_ = RunEnd::kEnded;
  priority_changes_.clear();
  for (size_t i = 0; i < kPriorityChanges; ++i)
    priority_changes_.push_back(
        random_.between(0, int64_t{1} << random_.between(1, kPriorityChangeBits)));
  std::ranges::sort(priority_changes_, std::greater<>());
  lowest_priority_ = UINT64_MAX / 2;

  Thread& main = make_thread();
  main.start = nullptr;
  running_ = &main;
  const int made = real_pthread().create(&main.real, nullptr, &VirtualThreads::begin, &main);
  ENSURE(made == 0, "a thread cannot be made: error {}", made);
  main.turn.give();
  over_.wait();
  if (main.state == State::kEnded) real_pthread().join(main.real, nullptr);
  standing_.clear();
  if (end_ != RunEnd::kEnded) {
    standing_ = describe();
    std::ranges::move(threads_, std::back_inserter(killed_threads()));
  }
  threads_.clear();
  body_ = nullptr;
  each_step_ = nullptr;
  return end_;
}

VirtualThreads::Thread& VirtualThreads::make_thread() {
  auto thread = std::make_unique<Thread>();
  thread->world = this;
  thread->number = threads_.size() + 1;
  thread->priority = random_.below(UINT64_MAX / 2) + UINT64_MAX / 2;
  threads_.push_back(std::move(thread));
  return *threads_.back();
}

void* VirtualThreads::begin(void* thread) {
  Thread& self = *static_cast<Thread*>(thread);
  self_ = &self;
  self.turn.wait();
  void* result = nullptr;
  if (self.start == nullptr) {
    self.world->body_();
  } else {
    result = self.start(self.argument);
  }
  self_ = nullptr;
  self.world->thread_ended(self);
  return result;
}

void VirtualThreads::thread_ended(Thread& self) {
  trace_.step(self.number, kEnd);
  self.state = State::kEnded;
  for (const std::unique_ptr<Thread>& other : threads_) {
    if (other->state == State::kJoin && other->object == &self) other->state = State::kRunnable;
  }
  if (self.start == nullptr) {
    const bool all = std::ranges::all_of(
        threads_, [](const auto& thread) { return thread->state == State::kEnded; });
    end_ = all ? RunEnd::kEnded : RunEnd::kThreadsLeft;
    over_.give();
    return;
  }
  wake_due();
  Thread* next = choose();
  if (next == nullptr && wait_for_time()) next = choose();
  if (next == nullptr) {
    end_ = RunEnd::kDeadlock;
    over_.give();
    return;
  }
  running_ = next;
  next->turn.give();
}

void VirtualThreads::stop_for_good(Thread& self, RunEnd end) {
  end_ = end;
  over_.give();
  for (;;)
    self.turn.wait();  // it never comes
}

void VirtualThreads::kill() {
  stop_for_good(*self_, RunEnd::kKilled);
}

// --- turns ------------------------------------------------------------------------------------

void VirtualThreads::step(Thread& self, int what) {
  ++steps_;
  now_ns_ += random_.between(0, options_.step_time_max.count());
  if (options_.hiccup > 0 && random_.chance(options_.hiccup))
    now_ns_ += random_.between(0, 1'000'000'000);
  trace_.step(self.number, static_cast<uint64_t>(what));
  if (each_step_) each_step_();
  if (steps_ >= kill_at_) stop_for_good(self, RunEnd::kKilled);
  if (steps_ > options_.steps_max || now_ns_ - began_ns_ > options_.time_max.count())
    stop_for_good(self, RunEnd::kTooLong);
}

void VirtualThreads::give_way(Thread& self) {
  wake_due();
  Thread* next = choose();
  if (next == nullptr && wait_for_time()) next = choose();
  if (next == nullptr) stop_for_good(self, RunEnd::kDeadlock);
  if (next == &self) return;
  running_ = next;
  next->turn.give();
  self.turn.wait();
}

VirtualThreads::Thread* VirtualThreads::choose() {
  if (options_.interleaving == Interleaving::kPriority && !priority_changes_.empty() &&
      steps_ >= priority_changes_.back()) {
    priority_changes_.pop_back();
    running_->priority = --lowest_priority_;
  }
  size_t count = 0;
  Thread* highest = nullptr;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state != State::kRunnable) continue;
    ++count;
    if (highest == nullptr || thread->priority > highest->priority) highest = thread.get();
  }
  if (count <= 1 || options_.interleaving == Interleaving::kPriority) return highest;
  if (options_.interleaving == Interleaving::kSticky && running_->state == State::kRunnable &&
      random_.chance(kStay)) {
    return running_;
  }
  size_t left = random_.below(count);
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state == State::kRunnable && left-- == 0) return thread.get();
  }
  return nullptr;
}

// False when no thread waits for a time.
bool VirtualThreads::wait_for_time() {
  std::optional<int64_t> next;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->until_ns) next = std::min(next.value_or(INT64_MAX), *thread->until_ns);
  }
  if (!next) return false;
  now_ns_ = std::max(now_ns_, *next);
  wake_due();
  return true;
}

void VirtualThreads::wake_due() {
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (!thread->until_ns || *thread->until_ns > now_ns_) continue;
    thread->until_ns.reset();
    thread->timed_out = true;
    thread->state = State::kRunnable;
  }
}

void VirtualThreads::point() {
  step(*self_, kPoint);
  give_way(*self_);
}

// --- threads ----------------------------------------------------------------------------------

int VirtualThreads::create(pthread_t* thread, const pthread_attr_t* attributes,
                           void* (*start)(void*), void* argument) {
  Thread& made = make_thread();
  made.start = start;
  made.argument = argument;
  const int error = real_pthread().create(&made.real, attributes, &VirtualThreads::begin, &made);
  ENSURE(error == 0, "a thread cannot be made: error {}", error);
  *thread = made.real;
  step(*self_, kCreate);
  give_way(*self_);
  return 0;
}

int VirtualThreads::join(pthread_t thread, void** result) {
  Thread& self = *self_;
  step(self, kJoin);
  const auto found = std::ranges::find_if(
      threads_, [&](const auto& other) { return pthread_equal(other->real, thread) != 0; });
  if (found == threads_.end()) return ESRCH;
  Thread& other = **found;
  if (other.state != State::kEnded) {
    self.state = State::kJoin;
    self.object = &other;
    give_way(self);
  }
  const int joined = real_pthread().join(other.real, result);
  other.real = {};  // the number may be another's from now on
  return joined;
}

// --- mutexes and conditions -------------------------------------------------------------------

int VirtualThreads::lock(const void* mutex) {
  step(*self_, kLock);
  give_way(*self_);
  take(*self_, mutex);
  return 0;
}

void VirtualThreads::take(Thread& self, const void* mutex) {
  while (!holders_.try_emplace(mutex, &self).second) {
    self.state = State::kMutex;
    self.object = mutex;
    give_way(self);
  }
}

int VirtualThreads::try_lock(const void* mutex) {
  step(*self_, kTryLock);
  give_way(*self_);
  return holders_.try_emplace(mutex, self_).second ? 0 : EBUSY;
}

int VirtualThreads::unlock(const void* mutex) {
  give_back(mutex);
  step(*self_, kUnlock);
  give_way(*self_);
  return 0;
}

// Threads that wait for it may try again: which thread gets it, one of them or another, is drawn.
void VirtualThreads::give_back(const void* mutex) {
  const auto found = holders_.find(mutex);
  ENSURE(found != holders_.end() && found->second == self_,
         "thread {} gives back a mutex that it does not hold", self_->number);
  holders_.erase(found);
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state == State::kMutex && thread->object == mutex) thread->state = State::kRunnable;
  }
}

int VirtualThreads::wait(const void* condition, const void* mutex, std::optional<TimePoint> until) {
  Thread& self = *self_;
  step(self, kWait);
  give_back(mutex);
  self.timed_out = false;
  if (options_.spurious_wake <= 0 || !random_.chance(options_.spurious_wake)) {
    self.state = State::kCondition;
    self.object = condition;
    if (until) self.until_ns = until->time_since_epoch().count();
  }
  give_way(self);
  const bool timed_out = self.timed_out;
  take(self, mutex);
  return timed_out ? ETIMEDOUT : 0;
}

int VirtualThreads::wait_on(const int* address, int expected) {
  Thread& self = *self_;
  step(self, kWait);
  give_way(self);
  if (*address != expected) {
    errno = EAGAIN;
    return -1;
  }
  self.state = State::kCondition;
  self.object = address;
  give_way(self);
  return 0;
}

// POSIX does not say which of several waiting threads is woken, so it is drawn.
int VirtualThreads::notify(const void* condition, bool all) {
  step(*self_, kNotify);
  give_way(*self_);
  std::vector<Thread*> waiting;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state == State::kCondition && thread->object == condition)
      waiting.push_back(thread.get());
  }
  if (!all && waiting.size() > 1) waiting = {waiting[random_.below(waiting.size())]};
  for (Thread* thread : waiting) {
    thread->state = State::kRunnable;
    thread->until_ns.reset();
  }
  return 0;
}

void VirtualThreads::rest_until(TimePoint time) {
  Thread& self = *self_;
  step(self, kSleep);
  self.state = State::kSleep;
  self.until_ns = time.time_since_epoch().count();
  give_way(self);
}

TimePoint VirtualThreads::read_clock() {
  now_ns_ += kReadNs;
  return now();
}

// --- for people -------------------------------------------------------------------------------

std::string VirtualThreads::describe() const {
  std::unordered_map<const void*, size_t> names;
  const auto name = [&](const void* object) {
    return names.try_emplace(object, names.size() + 1).first->second;
  };
  std::string text;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state == State::kEnded) continue;
    text += fmt::format("  thread {} ", thread->number);
    switch (thread->state) {
      case State::kRunnable:
        text += "could run";
        break;
      case State::kMutex: {
        const auto tenant = holders_.find(thread->object);
        text += fmt::format("waits for mutex {}, which thread {} holds", name(thread->object),
                            tenant == holders_.end() ? 0 : tenant->second->number);
        break;
      }
      case State::kCondition:
        text += fmt::format("waits for condition {}", name(thread->object));
        break;
      case State::kJoin:
        text += fmt::format("waits for the end of thread {}",
                            static_cast<const Thread*>(thread->object)->number);
        break;
      case State::kSleep:
        text += "sleeps";
        break;
      case State::kEnded:
        break;
    }
    text += '\n';
  }
  return text;
}

}  // namespace windrow::simulate
