// History: the turns of one session, and where a new request belongs. Pure; used by one thread at a
// time (the session's lock).
//
//   auto found = history.attach(keys_of_the_request);
//   ... the model answers; meanwhile other turns may be committed ...
//   history.commit(attachment, turn);      // false: it came too late, and nothing has changed
//
// Linear: one conversation. A request that leaves out the last turn rolls back to the turn before;
// nothing is removed until the new turn is committed. Deeper rollbacks are refused, as the
// trainers' reference server does. A turn that another one has overtaken is not committed.
//
// Tree: every turn stays. A request belongs behind the deepest turn whose whole conversation it
// begins with, the latest one where several do; so concurrent turns become siblings, and a request
// that matches nothing begins a new conversation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "session/history/message_key.h"
#include "session/history/turn.h"
#include "session/history/turn_path.h"

namespace windrow::session {

enum class HistoryKind : uint8_t { kLinear, kTree };

struct HistoryOptions {
  HistoryKind kind = HistoryKind::kLinear;
  // That the session has; turns that are answered at the same time may exceed it. In a line, that
  // the conversation has.
  size_t turns_max = 1024;
  size_t rollback_turns = 1;  // linear: turns that one request may leave out
};

// Where a request belongs.
struct Attachment {
  TurnId parent;               // 0: it begins a conversation
  size_t parent_messages = 0;  // of the request: those of the parent's conversation
  size_t left_out = 0;         // linear: turns behind the parent, which the commit removes
  uint64_t epoch = 0;          // History::epoch() then
};

class History {
 public:
  explicit History(HistoryOptions options) : options_(options) {}

  // Fails with
  //   400 rollback_too_deep   linear: more turns are left out than may be
  //   409 truncated_turn      tree: the parent was cut by its limit of tokens and cannot go on
  //   409 too_many_turns      turns_max
  std::variant<Attachment, llm::Failure> attach(std::span<const MessageKey> request) const;

  // Adds the turn, and sets its id and parent; removes the turns that the request left out. False:
  // linear, another turn was committed since attach; nothing has changed.
  bool commit(const Attachment& attachment, std::shared_ptr<Turn> turn);

  // Replaces the rows of the turns up to and with `last` by those of `rows` that belong to the same
  // tokens, where they differ: for models whose experts are chosen again when tokens are computed
  // again. Turns that share them see them replaced, too. A TurnPath that was taken before does not.
  void replace_rows(TurnId last, RowKind kind, const TokenRows& rows);

  // The conversation up to and with that turn; empty for id 0 or a turn that is not there.
  TurnPath path(TurnId turn) const;

  // Linear: the conversation. Tree: that of the turn committed last.
  TurnPath latest() const;

  // Turns without a turn behind them, in the order of their commit.
  std::vector<TurnId> leaves() const;

  // All turns, in the order of their commit.
  std::vector<TurnPtr> turns() const;

  const HistoryOptions& options() const { return options_; }
  size_t size() const { return nodes_.size(); }

  // Grows with each change, also with those that leave as many turns as there were.
  uint64_t epoch() const { return epoch_; }
  int64_t rollbacks() const { return rollbacks_; }  // commits that removed turns

  // Of all turns (bytes_of); what is shared is counted once.
  size_t bytes() const { return bytes_; }

 private:
  struct Node {
    TurnPtr turn;
    size_t parent = kNone;  // its index
    size_t messages = 0;    // of the conversation that it ends
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Indexes of nodes_, kNone where there is none: of a turn, and of the deepest one whose whole
  // conversation the request begins with, the latest of several.
  size_t index_of(TurnId turn) const;
  size_t deepest_match(std::span<const MessageKey> request) const;

  void add(std::shared_ptr<Turn> turn, size_t parent);
  void remove_behind(size_t parent);

  const HistoryOptions options_;
  std::vector<Node> nodes_;  // in the order of their commit: each behind its parent
  std::unordered_map<const std::string*, size_t> shared_;  // members of turns: how many have them
  uint64_t next_id_ = 1;
  uint64_t epoch_ = 0;
  int64_t rollbacks_ = 0;
  size_t bytes_ = 0;
};

}  // namespace windrow::session
