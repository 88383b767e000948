// The C library's own functions, behind those that interposed_pthread.cc puts in front of them.
#pragma once

#include <pthread.h>
#include <time.h>

namespace windrow::simulate {

struct RealPthread {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*join)(pthread_t, void**);
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*cond_signal)(pthread_cond_t*);
  int (*cond_broadcast)(pthread_cond_t*);
  int (*clock_gettime)(clockid_t, timespec*);
  int (*clock_nanosleep)(clockid_t, int, const timespec*, timespec*);
  long (*syscall)(long, ...);
};

// Any thread, also before main.
const RealPthread& real_pthread();

}  // namespace windrow::simulate
