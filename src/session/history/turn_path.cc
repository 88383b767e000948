#include "session/history/turn_path.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::session {
namespace {

// No rows tell nothing of their width.
bool has_values(const TokenRows* rows) {
  return rows != nullptr && rows->values_per_row > 0 && rows->values.size() > 0;
}

}  // namespace

TurnPath::TurnPath(std::vector<TurnPtr> turns) {
  auto list = std::make_shared<List>();
  list->turns = std::move(turns);
  list->ends.reserve(list->turns.size());
  size_t tokens = 0;
  for (const TurnPtr& turn : list->turns) {
    ENSURE(turn->kept_tokens <= tokens, "turn {} keeps {} tokens of a conversation of {}",
           turn->id.value(), turn->kept_tokens, tokens);
    tokens = turn->kept_tokens + turn->prompt.size() + turn->sampled.size();
    list->ends.push_back(tokens);
  }
  list->kept_ends = list->ends;
  for (size_t i = list->turns.size(); i-- > 1;)
    list->kept_ends[i - 1] = std::min(list->turns[i]->kept_tokens, list->kept_ends[i]);
  list_ = std::move(list);
}

// The tokens of turn i are those from its kept_tokens to its kept end.
void TurnPath::append_tokens(size_t first, size_t count, std::vector<int32_t>& tokens) const {
  ENSURE(first <= this->tokens() && count <= this->tokens() - first,
         "tokens {} to {} are read of a conversation of {}", first, first + count, this->tokens());
  const size_t end = first + count;
  const auto begins_in = std::ranges::upper_bound(list_->kept_ends, first);
  for (auto i = static_cast<size_t>(begins_in - list_->kept_ends.begin()); first < end; ++i) {
    const Turn& turn = *list_->turns[i];
    const size_t until = std::min(end, list_->kept_ends[i]);
    for (const auto* part : {&turn.prompt, &turn.sampled}) {
      const size_t begin = turn.kept_tokens + (part == &turn.sampled ? turn.prompt.size() : 0);
      if (first >= until || first >= begin + part->size()) continue;
      const size_t part_end = std::min(until, begin + part->size());
      const auto from = part->begin();
      tokens.insert(tokens.end(), from + static_cast<std::ptrdiff_t>(first - begin),
                    from + static_cast<std::ptrdiff_t>(part_end - begin));
      first = part_end;
    }
  }
}

std::vector<int32_t> TurnPath::all_tokens() const {
  std::vector<int32_t> all;
  all.reserve(tokens());
  append_tokens(0, tokens(), all);
  return all;
}

size_t TurnPath::messages() const {
  size_t count = 0;
  for (const TurnPtr& turn : list_->turns)
    count += turn->appended.size() + 1;
  return count;
}

TurnPath::Rows TurnPath::rows_at(RowKind kind, size_t turn, size_t values_per_row) const {
  const TokenRows* const rows = list_->turns[turn]->rows_of(kind);
  if (!has_values(rows) || rows->values_per_row != values_per_row) return {};
  return {.rows = rows,
          .begin = rows->first_row,
          .end = std::min(rows->end_row(), list_->kept_ends[turn])};
}

size_t TurnPath::values_per_row(RowKind kind) const {
  for (const TurnPtr& turn : list_->turns)
    if (has_values(turn->rows_of(kind))) return turn->rows_of(kind)->values_per_row;
  return 0;
}

size_t TurnPath::rows_covered(RowKind kind) const {
  const size_t each = values_per_row(kind);
  if (each == 0) return 0;
  size_t covered = 0;
  // As a rule each turn goes on where the one before it ended; but one may fill a gap before those
  // of an earlier one.
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (size_t i = 0; i < list_->turns.size(); ++i) {
      const Rows rows = rows_at(kind, i, each);
      if (!rows.has(covered)) continue;
      covered = rows.end;
      goes_on = true;
    }
  }
  return covered;
}

// The first turn's that has that row, up to where an earlier turn's begin.
TurnPath::Rows TurnPath::rows_that_have(RowKind kind, size_t row) const {
  const size_t each = values_per_row(kind);
  size_t end = tokens();
  for (size_t i = 0; i < list_->turns.size(); ++i) {
    Rows rows = rows_at(kind, i, each);
    if (rows.has(row)) {
      rows.end = std::min(rows.end, end);
      return rows;
    }
    if (rows.begin > row && rows.begin < rows.end) end = std::min(end, rows.begin);
  }
  return {};
}

void TurnPath::read_rows(RowKind kind, size_t first, size_t count,
                         std::span<int32_t> values) const {
  const size_t each = values_per_row(kind);
  ENSURE(values.size() == count * each, "{} numbers for {} rows of {}", values.size(), count, each);
  while (count > 0) {
    const Rows rows = rows_that_have(kind, first);
    ENSURE(rows.rows != nullptr, "row {} of {} is read, and no turn has it", first,
           to_string(kind));
    const size_t found = std::min(count, rows.end - first);
    rows.rows->values.read((first - rows.rows->first_row) * each, values.first(found * each));
    values = values.subspan(found * each);
    first += found;
    count -= found;
  }
}

}  // namespace windrow::session
