// FullOfFiles: while it lives this process can open no file, until it closes one that was open
// before. The whole process; one at a time.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace windrow::http::testing {

class FullOfFiles {
 public:
  FullOfFiles() {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("no limit of files");
    int highest = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      highest = std::max(highest, std::stoi(entry.path().filename().string()));
    rlimit low = before_;
    low.rlim_cur = static_cast<rlim_t>(highest) + 1;
    if (setrlimit(RLIMIT_NOFILE, &low) != 0) throw std::runtime_error("the limit stays");
    for (int file = 0; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
      files_.push_back(file);
  }

  ~FullOfFiles() {
    for (const int file : files_)
      ::close(file);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FullOfFiles(const FullOfFiles&) = delete;
  FullOfFiles& operator=(const FullOfFiles&) = delete;

 private:
  rlimit before_{};
  std::vector<int> files_;
};

}  // namespace windrow::http::testing
