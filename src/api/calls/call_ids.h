// CallIds: ids of calls that cannot be guessed from earlier ones, and random numbers for requests
// without a seed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace windrow::api {

// Any thread.
class CallIds {
 public:
  CallIds();

  // 32 hexadecimal digits; never the same twice.
  std::string next();

  uint64_t chance();

 private:
  const std::string secret_;
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace windrow::api
