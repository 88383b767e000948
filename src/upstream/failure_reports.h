// What the owner of a job or a server reads about failing upstreams. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "llm/answer.h"

namespace windrow::upstream {

// FailureReports: limits how often failures are reported. The first one of a server and code is
// reported at once; further ones are counted, and the count is reported every 30 s. After 30 s
// without one, the next is a first one again.
class FailureReports {
 public:
  // Returns the text to report now, if any. Cancelled calls are no failures.
  std::optional<std::string> add(TimePoint now, const std::string& server,
                                 const llm::Failure& failure);

 private:
  struct Wave {
    TimePoint reported{};
    TimePoint last{};
    int64_t unreported = 0;
  };

  // By server and code.
  std::map<std::pair<std::string, std::string>, Wave> waves_;
};

// AllFailedRule: tells when a job is useless: the servers took many requests and never answered
// one. To go on would fail row after row, with ever longer pauses.
class AllFailedRule {
 public:
  // A call has failed. `any_answer`: some server has answered a call before. Returns true once,
  // when the limit is reached; error() is set from then on. Failures that say nothing about the
  // servers (overload, no connection, no file descriptors) do not count.
  bool add(const llm::Failure& failure, bool any_answer);

  // kUnavailable, with the last failure.
  const std::optional<Error>& error() const { return error_; }

 private:
  int64_t unanswered_ = 0;
  std::optional<Error> error_;
};

}  // namespace windrow::upstream
