// FailureNews: which failures of servers are worth a word while a job runs. The first of a wave is
// said at once; the others are counted, and the count is said now and then. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "llm/answer.h"

namespace windrow::app {

class FailureNews {
 public:
  // What to say of a failure, if anything. `server` tells apart whose it is.
  std::optional<std::string> tell(TimePoint now, const std::string& server,
                                  const llm::Failure& failure);

 private:
  struct Wave {
    TimePoint said{};
    TimePoint last{};
    int64_t unsaid = 0;
  };

  // By server and code.
  std::map<std::pair<std::string, std::string>, Wave> waves_;
};

}  // namespace windrow::app
