// CallIds: names of calls and of requests, such as nobody can guess from those seen before, and
// chance for those that bring no seed of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace windrow::api {

// Any thread.
class CallIds {
 public:
  CallIds();

  // 32 hexadecimal digits, never the same twice.
  std::string next();

  uint64_t chance();

 private:
  const std::string secret_;
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace windrow::api
