#include "simulate/turn.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "simulate/real_pthread.h"

namespace windrow::simulate {

void Turn::wait() {
  while (given_.exchange(0, std::memory_order_acquire) == 0) {
    real_pthread().syscall(SYS_futex, &given_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

void Turn::give() {
  given_.store(1, std::memory_order_release);
  real_pthread().syscall(SYS_futex, &given_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace windrow::simulate
