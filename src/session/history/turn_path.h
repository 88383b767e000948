// TurnPath: a conversation as the turns from its first one to one of its turns. It has references
// to immutable turns, so it stays valid whatever happens to the session. Copies share them. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/history/turn.h"

namespace windrow::session {

using TurnPtr = std::shared_ptr<const Turn>;

class TurnPath {
 public:
  TurnPath() : TurnPath(std::vector<TurnPtr>{}) {}

  // `turns` from the first one on; each one's parent is the one before it.
  explicit TurnPath(std::vector<TurnPtr> turns);

  const std::vector<TurnPtr>& turns() const { return list_->turns; }
  bool empty() const { return list_->turns.empty(); }
  const Turn& last() const { return *list_->turns.back(); }

  // The tokens of the conversation after turn `turn` (an index of turns()), and before its answer.
  size_t tokens_after(size_t turn) const { return list_->ends[turn]; }
  size_t tokens_before(size_t turn) const {
    return list_->ends[turn] - list_->turns[turn]->sampled.size();
  }
  size_t tokens() const { return list_->ends.empty() ? 0 : list_->ends.back(); }

  // Appends tokens [first, first + count) of the conversation.
  void append_tokens(size_t first, size_t count, std::vector<int32_t>& tokens) const;
  std::vector<int32_t> all_tokens() const;

  // The messages of the conversation, answers included.
  size_t messages() const;

  // How many rows there are without a gap, from row 0 on; and numbers a row, 0 without rows. Rows
  // of tokens that a later turn did not keep do not count, nor do those of a turn that has more or
  // fewer numbers a row than the first one with rows.
  size_t rows_covered(RowKind kind) const;
  size_t values_per_row(RowKind kind) const;

  // Copies rows [first, first + count), which are covered; `values` has count * values_per_row. Of
  // a row that several turns have, that of the first one: it was computed when the token was
  // sampled.
  void read_rows(RowKind kind, size_t first, size_t count, std::span<int32_t> values) const;

 private:
  struct List {
    std::vector<TurnPtr> turns;
    std::vector<size_t> ends;       // tokens after each turn
    std::vector<size_t> kept_ends;  // those that all turns behind it kept; they never fall
  };

  // The rows of one turn that belong to the conversation: [begin, end) of its rows.
  struct Rows {
    const TokenRows* rows = nullptr;
    size_t begin = 0;
    size_t end = 0;
    bool has(size_t row) const { return begin <= row && row < end; }
  };
  Rows rows_at(RowKind kind, size_t turn, size_t values_per_row) const;
  Rows rows_that_have(RowKind kind, size_t row) const;

  std::shared_ptr<const List> list_;
};

}  // namespace windrow::session
