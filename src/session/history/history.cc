#include "session/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::session {
namespace {

// The texts of the trainers' reference server, which its clients know.
llm::Failure too_deep(size_t left_out, size_t left_out_max, size_t stored, size_t sent) {
  return {.status = 400,
          .code = "rollback_too_deep",
          .message = fmt::format(
              "rollback failed: discard_count={} exceeds max_assistant_rollback_steps={} (stored "
              "has {} messages, request has {} messages)",
              left_out, left_out_max, stored, sent)};
}

llm::Failure truncated() {
  return {.status = 409,
          .code = "truncated_turn",
          .message =
              "truncated generation cannot be extended: the matched node ended with "
              "finish_reason='length' and truncation closes that path for good; branch "
              "before the cut instead"};
}

llm::Failure too_many_turns(HistoryKind kind, size_t turns, size_t turns_max) {
  return {.status = 409,
          .code = "too_many_turns",
          .message = fmt::format(
              "the {} has {} turns, and a session may have {} (--session-turns-max): {}",
              kind == HistoryKind::kLinear ? "conversation" : "session", turns, turns_max,
              kind == HistoryKind::kLinear
                  ? "collect its samples and go on in a new session, or raise the limit"
                  : "that many often mean that requests do not repeat the conversation as it was "
                    "answered, so that each begins a branch; repeat it, go on in a new session, "
                    "or raise the limit")};
}

bool begins_with(std::span<const MessageKey> keys, const Turn& turn) {
  const size_t appended = turn.appended.size();
  if (keys.size() <= appended || keys[appended] != turn.answer.key) return false;
  for (size_t i = 0; i < appended; ++i)
    if (keys[i] != turn.appended[i].key) return false;
  return true;
}

}  // namespace

std::variant<Attachment, llm::Failure> History::attach(std::span<const MessageKey> request) const {
  const size_t parent = deepest_match(request);
  Attachment found{.parent = {}, .parent_messages = 0, .left_out = 0, .epoch = epoch_};
  if (parent != kNone) {
    found.parent = nodes_[parent].turn->id;
    found.parent_messages = nodes_[parent].messages;
  }
  size_t turns = nodes_.size();
  if (options_.kind == HistoryKind::kLinear) {
    turns = parent == kNone ? 0 : parent + 1;
    found.left_out = nodes_.size() - turns;
    if (found.left_out > options_.rollback_turns)
      return too_deep(found.left_out, options_.rollback_turns, nodes_.back().messages,
                      request.size());
  } else if (parent != kNone && nodes_[parent].turn->is_cut()) {
    return truncated();
  }
  if (turns >= options_.turns_max) return too_many_turns(options_.kind, turns, options_.turns_max);
  return found;
}

bool History::commit(const Attachment& attachment, std::shared_ptr<Turn> turn) {
  const bool linear = options_.kind == HistoryKind::kLinear;
  if (linear && attachment.epoch != epoch_) return false;
  const size_t parent = index_of(attachment.parent);
  ENSURE(attachment.parent == TurnId() || parent != kNone, "the parent {} is not in this history",
         attachment.parent.value());
  if (linear) remove_behind(parent);
  add(std::move(turn), parent);
  ++epoch_;
  return true;
}

void History::replace_rows(TurnId last, RowKind kind, const TokenRows& rows) {
  const auto index = static_cast<size_t>(kind);
  for (size_t i = index_of(last); i != kNone; i = nodes_[i].parent) {
    Node& node = nodes_[i];
    const TokenRows* const earlier = node.turn->rows_of(kind);
    if (earlier == nullptr || earlier->values_per_row != rows.values_per_row ||
        earlier->first_row < rows.first_row || earlier->end_row() > rows.end_row())
      continue;
    std::vector<int32_t> before(earlier->values.size());
    std::vector<int32_t> now(before.size());
    earlier->values.read(0, before);
    rows.values.read((earlier->first_row - rows.first_row) * rows.values_per_row, now);
    if (before == now) continue;
    auto replaced = std::make_shared<TokenRows>();
    replaced->first_row = earlier->first_row;
    replaced->values_per_row = earlier->values_per_row;
    replaced->values.append(now);
    replaced->values.shrink_to_fit();
    auto turn = std::make_shared<Turn>(*node.turn);
    turn->rows[index] = std::move(replaced);
    bytes_ += bytes_of(*turn);
    bytes_ -= bytes_of(*node.turn);
    node.turn = std::move(turn);
  }
}

TurnPath History::path(TurnId turn) const {
  std::vector<TurnPtr> turns;
  for (size_t i = index_of(turn); i != kNone; i = nodes_[i].parent)
    turns.push_back(nodes_[i].turn);
  std::reverse(turns.begin(), turns.end());
  return TurnPath(std::move(turns));
}

TurnPath History::latest() const {
  return nodes_.empty() ? TurnPath() : path(nodes_.back().turn->id);
}

std::vector<TurnId> History::leaves() const {
  std::vector<bool> inner(nodes_.size());
  for (const Node& node : nodes_)
    if (node.parent != kNone) inner[node.parent] = true;
  std::vector<TurnId> leaves;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!inner[i]) leaves.push_back(nodes_[i].turn->id);
  return leaves;
}

std::vector<TurnPtr> History::turns() const {
  std::vector<TurnPtr> turns;
  turns.reserve(nodes_.size());
  for (const Node& node : nodes_)
    turns.push_back(node.turn);
  return turns;
}

size_t History::index_of(TurnId turn) const {
  const auto found =
      std::lower_bound(nodes_.begin(), nodes_.end(), turn,
                       [](const Node& node, TurnId id) { return node.turn->id < id; });
  if (found == nodes_.end() || found->turn->id != turn) return kNone;
  return static_cast<size_t>(found - nodes_.begin());
}

size_t History::deepest_match(std::span<const MessageKey> request) const {
  std::vector<bool> matches(nodes_.size());
  size_t deepest = kNone;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.parent != kNone && !matches[node.parent]) continue;
    const size_t begin = node.parent == kNone ? 0 : nodes_[node.parent].messages;
    if (!begins_with(request.subspan(begin), *node.turn)) continue;
    matches[i] = true;
    if (deepest == kNone || node.messages >= nodes_[deepest].messages) deepest = i;
  }
  return deepest;
}

void History::add(std::shared_ptr<Turn> turn, size_t parent) {
  turn->id = TurnId(next_id_++);
  turn->parent = parent == kNone ? TurnId() : nodes_[parent].turn->id;
  bytes_ += bytes_of(*turn);
  for (const auto& members : shared_members(*turn))
    if (members && shared_[members.get()]++ > 0) bytes_ -= bytes_of_members(*members);
  const size_t before = parent == kNone ? 0 : nodes_[parent].messages;
  const size_t messages = before + turn->appended.size() + 1;
  nodes_.push_back({.turn = std::move(turn), .parent = parent, .messages = messages});
}

void History::remove_behind(size_t parent) {
  const size_t kept = parent == kNone ? 0 : parent + 1;
  if (kept == nodes_.size()) return;
  while (nodes_.size() > kept) {
    const Turn& turn = *nodes_.back().turn;
    bytes_ -= bytes_of(turn);
    for (const auto& members : shared_members(turn)) {
      if (!members) continue;
      if (--shared_[members.get()] > 0) {
        bytes_ += bytes_of_members(*members);
      } else {
        shared_.erase(members.get());
      }
    }
    nodes_.pop_back();
  }
  ++rollbacks_;
}

}  // namespace windrow::session
