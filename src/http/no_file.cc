#include "http/no_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace windrow::http {

bool is_for_want_of_files(int error) {
  return error == EMFILE || error == ENFILE;
}

bool no_file_is_left() {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0) return is_for_want_of_files(errno);
  ::close(file);
  return false;
}

}  // namespace windrow::http
