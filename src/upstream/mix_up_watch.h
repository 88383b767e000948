// MixUpWatch: the one self-check of a run (self_check.h), for all threads and servers. Whoever
// submits rows asks it for questions to plant beside them; a CheckedBackend before each server
// shows it what comes back.
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

  // The question to plant beside a row that is about to be sent; nothing for most, and for rows
  // that are no chats. It is a request as any other: it counts against limits and costs money.
  std::optional<llm::Request> question_beside(const llm::Request& row);

  // Which question a request is; nothing for a row.
  std::optional<uint64_t> question_of(const llm::Request& request) const;

  // What came back from a server for a row, or for a question. Once answers were mixed up every
  // outcome is a kBackend failure that says so: an answer that cannot be trusted is none.
  llm::Outcome judge(std::string_view server, std::optional<uint64_t> question,
                     llm::Outcome outcome);

  SelfCheckCounts counts() const;

  // kUnavailable, once answers were mixed up.
  std::optional<Error> verdict() const;

 private:
  mutable std::mutex mutex_;
  SelfCheck check_;
  std::string fault_;  // what was seen first; empty: nothing
};

}  // namespace windrow::upstream
