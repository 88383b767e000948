// MixUpWatch: the self-check of a job (self_check.h), for all threads and servers. The submitter of
// rows takes questions from it to plant; a CheckedBackend in front of each server passes all
// answers through it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "upstream/self_check.h"

namespace windrow::upstream {

// Thread-safe.
class MixUpWatch {
 public:
  explicit MixUpWatch(uint64_t run) : check_(run) {}

  // The question to plant beside a row that is about to be sent; none for most rows, and for rows
  // that are no chats. It is a request like any other: it counts against limits and costs money.
  std::optional<llm::Request> question_beside(const llm::Request& row);

  // Which question a request is; absent for a row.
  std::optional<uint64_t> question_of(const llm::Request& request) const;

  // Takes the outcome of a row or of a question and returns the one to pass on. Once answers were
  // mixed up that is a kBackend failure for every request: no answer can be trusted any more.
  llm::Outcome judge(std::string_view server, std::optional<uint64_t> question,
                     llm::Outcome outcome);

  SelfCheckCounts counts() const;

  // kUnavailable once answers were mixed up.
  std::optional<Error> verdict() const;

 private:
  mutable std::mutex mutex_;
  SelfCheck check_;
  std::string fault_;  // the first mix-up; empty: there was none
};

}  // namespace windrow::upstream
