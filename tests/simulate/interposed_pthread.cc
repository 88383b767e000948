// The functions of the C library by which C++ threads, mutexes, condition variables and clocks are
// made, defined in the executable, so that both our code and the C++ library's resolve to them. On
// a thread of a simulated run they ask its VirtualThreads; everywhere else they are what they were.
//
// The C++ library uses futexes itself (std::atomic::wait, semaphores, a stop callback that is
// destroyed while it runs): these come here as a system call.
//
// Not here, because nothing under simulation uses them: read-write locks, barriers, and waiting for
// a futex up to a time.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <optional>

#include "simulate/real_pthread.h"
#include "simulate/virtual_threads.h"

// AddressSanitizer has to see threads begin; where it is not linked in, this is null.
extern "C" __attribute__((weak)) int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                                  void* (*)(void*), void*);

namespace windrow::simulate {
namespace {

// A date that people can tell from the real one.
constexpr int64_t kDateOfZeroNs = 1'700'000'000'000'000'000;

constexpr int64_t kNsPerSecond = 1'000'000'000;

template <class Function>
void find(Function& function, const char* name) {
  // glibc on x86-64 has conditions of an older kind under the same names.
  void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  function = reinterpret_cast<Function>(found);
}

RealPthread find_all() {
  RealPthread real{};
  find(real.create, "pthread_create");
  if (__interceptor_pthread_create != nullptr) real.create = __interceptor_pthread_create;
  find(real.join, "pthread_join");
  find(real.mutex_lock, "pthread_mutex_lock");
  find(real.mutex_trylock, "pthread_mutex_trylock");
  find(real.mutex_unlock, "pthread_mutex_unlock");
  find(real.cond_wait, "pthread_cond_wait");
  find(real.cond_timedwait, "pthread_cond_timedwait");
  find(real.cond_clockwait, "pthread_cond_clockwait");
  find(real.cond_signal, "pthread_cond_signal");
  find(real.cond_broadcast, "pthread_cond_broadcast");
  find(real.clock_gettime, "clock_gettime");
  find(real.clock_nanosleep, "clock_nanosleep");
  find(real.syscall, "syscall");
  return real;
}

int64_t to_ns(const timespec& time) {
  return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec;
}

// In the time of a run.
TimePoint time_of(clockid_t clock, const timespec& time) {
  const int64_t ns = to_ns(time);
  return TimePoint(Duration(clock == CLOCK_REALTIME ? ns - kDateOfZeroNs : ns));
}

}  // namespace

const RealPthread& real_pthread() {
  static const RealPthread real = find_all();
  return real;
}

}  // namespace windrow::simulate

using windrow::Duration;
using windrow::TimePoint;
using windrow::simulate::kDateOfZeroNs;
using windrow::simulate::kNsPerSecond;
using windrow::simulate::real_pthread;
using windrow::simulate::time_of;
using windrow::simulate::to_ns;
using windrow::simulate::VirtualThreads;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().create(thread, attributes, start, argument);
  return world->create(thread, attributes, start, argument);
}

int pthread_join(pthread_t thread, void** result) {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().join(thread, result);
  return world->join(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().mutex_lock(mutex);
  return world->lock(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().mutex_trylock(mutex);
  return world->try_lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().mutex_unlock(mutex);
  return world->unlock(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().cond_wait(condition, mutex);
  return world->wait(condition, mutex, std::nullopt);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().cond_timedwait(condition, mutex, until);
  return world->wait(condition, mutex, time_of(CLOCK_REALTIME, *until));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().cond_clockwait(condition, mutex, clock, until);
  return world->wait(condition, mutex, time_of(clock, *until));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().cond_signal(condition);
  return world->notify(condition, false);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().cond_broadcast(condition);
  return world->notify(condition, true);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().clock_gettime(clock, time);
  int64_t ns = world->read_clock().time_since_epoch().count();
  if (clock == CLOCK_REALTIME) ns += kDateOfZeroNs;
  time->tv_sec = ns / kNsPerSecond;
  time->tv_nsec = ns % kNsPerSecond;
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world == nullptr) return real_pthread().clock_nanosleep(clock, flags, time, left);
  world->rest_until((flags & TIMER_ABSTIME) != 0 ? time_of(clock, *time)
                                                 : world->now() + Duration(to_ns(*time)));
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {  // tidy-allow sleep: it is defined here
  return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments)
    argument = va_arg(list, long);
  va_end(list);
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world != nullptr && number == SYS_futex) {
    const auto* const address = reinterpret_cast<const int*>(arguments[0]);
    const int operation = static_cast<int>(arguments[1]) & ~FUTEX_PRIVATE_FLAG;
    if (operation == FUTEX_WAIT && arguments[3] == 0)
      return world->wait_on(address, static_cast<int>(arguments[2]));
    if (operation == FUTEX_WAKE) return world->notify(address, arguments[2] > 1);
  }
  return real_pthread().syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                arguments[4], arguments[5]);
}

int sched_yield() noexcept {
  VirtualThreads* const world = VirtualThreads::of_this_thread();
  if (world != nullptr) world->point();
  return 0;
}

}  // extern "C"
