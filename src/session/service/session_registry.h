// SessionRegistry: the sessions of a server by their ids, how many there may be, and for a while
// what became of those that are gone. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/answer.h"
#include "session/service/session.h"

namespace windrow::session {

class SessionRegistry {
 public:
  explicit SessionRegistry(const SessionLimits& limits) : limits_(limits) {}

  // Fails with 429 `too_many_sessions` or 507 `sessions_full`, and never for the id.
  std::variant<std::shared_ptr<Session>, llm::Failure> add(Session::Identity identity,
                                                           SessionConfig config, TimePoint now);

  // 404; 410 `session_expired` for one that expire() has removed.
  std::variant<std::shared_ptr<Session>, llm::Failure> find(std::string_view id,
                                                            TimePoint now) const;

  // Removes and closes it. Failures as find's; 404 for one that another caller has removed.
  std::variant<std::shared_ptr<Session>, llm::Failure> remove(std::string_view id, TimePoint now);

  // Removes sessions that were not used since `limits.idle`. Returns how many.
  size_t expire(TimePoint now);

  std::vector<std::shared_ptr<Session>> all() const;
  size_t size() const;

  // Of all sessions: bytes that commits reported, and an allowance for each session.
  int64_t bytes() const { return bytes_; }
  void add_bytes(int64_t more) { bytes_ += more; }

  // 507 where all sessions together take as much as they may.
  std::variant<std::monostate, llm::Failure> room() const;

 private:
  struct Gone {
    bool expired = false;
    TimePoint at;
  };

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  template <class T>
  using ById = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  void remember(const std::string& id, Gone gone);
  llm::Failure absent(std::string_view id, TimePoint now) const;

  const SessionLimits limits_;
  std::atomic<int64_t> bytes_ = 0;

  mutable std::mutex mutex_;
  ById<std::shared_ptr<Session>> sessions_;
  ById<Gone> gone_;
  std::deque<std::string> gone_order_;  // the oldest first
};

}  // namespace windrow::session
