#include "app/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace windrow::app {

bool hold_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free, which is this one. It stays open in programs that are started.
    const int opened = ::open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDWR);
    if (opened != wanted) return false;
  }
  return true;
}

}  // namespace windrow::app
