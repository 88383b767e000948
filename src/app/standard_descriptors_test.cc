#include "app/standard_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <initializer_list>

namespace windrow::app {
namespace {

// What `code` returns in a process of its own.
int in_child(const std::function<int()>& code) {
  const pid_t child = fork();
  if (child == 0) _exit(code());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(StandardDescriptors, ClosedOnesAreTaken) {
  const int code = in_child([] {
    for (const int closed : {0, 1, 2})
      close(closed);
    if (!hold_standard_descriptors()) return 10;
    // What is opened next has a number of its own.
    if (open("/dev/null", O_RDONLY) < 3) return 11;
    char byte = 0;
    if (read(0, &byte, 1) >= 0 || errno != EBADF) return 12;
    if (write(1, &byte, 1) != 1 || write(2, &byte, 1) != 1) return 13;
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(StandardDescriptors, OpenOnesStay) {
  const int code = in_child([] {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || dup2(ends[0], 0) != 0) return 10;
    close(2);
    if (!hold_standard_descriptors()) return 11;
    char byte = 0;
    return read(0, &byte, 1) == 1 && byte == 'x' && fcntl(2, F_GETFD) >= 0 ? 0 : 12;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace windrow::app
