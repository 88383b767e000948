// Session: one session of an agent: its history, its settings, and the turns that models work at.
// Thread-safe; nothing blocks but for a moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/answer.h"
#include "session/history/history.h"
#include "session/history/turn_path.h"
#include "session/service/new_turn.h"
#include "session/service/session_options.h"

namespace windrow::session {

// 404, as the reference server words it.
llm::Failure no_session(std::string_view id);

class Session {
 public:
  struct Identity {
    std::string id;
    std::string key;    // opens this session and nothing else
    std::string owner;  // the API key that created it; empty: none
    double created_at_unix_s = 0;
  };

  Session(Identity identity, SessionConfig config, const SessionLimits& limits, TimePoint now);

  const Identity& identity() const { return identity_; }
  const SessionConfig& config() const { return config_; }

  // A turn that has begun. It counts as in flight until end().
  struct Begun {
    uint64_t call = 0;
    std::stop_token stop;  // stopped by stop(), and by close() unless orphans are committed
    Attachment attachment;
    TurnPath path;  // the conversation so far
  };

  // Fails as History::attach, and with
  //   404                     the session is closed
  //   400 other_model         its turns are of another model
  //   507 session_full        it takes as much memory as it may
  std::variant<Begun, llm::Failure> begin(std::span<const MessageKey> request,
                                          std::string_view model, TimePoint now);

  enum class Commit : uint8_t { kDone, kOvertaken, kClosed };
  struct Committed {
    Commit how = Commit::kDone;
    int64_t bytes_more = 0;  // memory that the session takes more than before
    bool rolled_back = false;
  };
  Committed commit(const Attachment& attachment, NewTurn made, std::string_view model,
                   TimePoint now);

  void stop(uint64_t call);
  void end(uint64_t call, TimePoint now);

  // No turn begins or is committed from now on; turns in flight are stopped unless the
  // configuration says otherwise. False: it was closed already.
  bool close();

  // Stops all turns in flight.
  void stop_all();

  // A reading of one moment. Paths stay valid whatever happens.
  struct Reading {
    std::string model;
    TurnPath latest;
    std::vector<TurnPath> leaves;  // of a tree; of a line that is `latest`
    size_t turns = 0;
    int64_t rollbacks = 0;
    int32_t in_flight = 0;
    size_t bytes = 0;
    TimePoint used_at;
  };
  Reading read(bool with_paths) const;

  // The conversation of each turn, in the order of their commit.
  std::vector<TurnPath> all_paths() const;

  // The conversations of a tree that become samples (kept_leaves.h); of a line, that one.
  std::vector<TurnPath> kept_paths() const;

  // Whether nothing is in flight and it was last used before `before`.
  bool is_idle_since(TimePoint before) const;

  std::string model() const;

 private:
  size_t bytes_locked() const;

  const Identity identity_;
  const SessionConfig config_;
  const size_t bytes_max_;

  mutable std::mutex mutex_;
  History history_;
  std::string model_;  // empty: no turn yet
  bool closed_ = false;
  uint64_t next_call_ = 1;
  std::map<uint64_t, std::stop_source> calls_;
  TimePoint used_at_;
};

}  // namespace windrow::session
