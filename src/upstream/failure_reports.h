// Failures of upstream servers, as people read them: reports for the owner of a job or a server,
// and messages for clients of `windrow serve`. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
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

// --- for clients: without the address of the server, and without what only its operator can fix
// ---

// The message of `failure`, in which the server at `origin` ("http://gpu1:8000") is called `name`
// ("a server behind this one"). Text that the server itself sent stays.
std::string redact_for_client(const llm::Failure& failure, std::string_view origin,
                              std::string_view name);

// `failure` with that message. Where the server refused this program's key or redirected it, a 502
// without anything that the server sent: only the operator can act on that.
llm::Failure for_clients(llm::Failure failure, std::string_view origin, std::string_view name);

}  // namespace windrow::upstream
