// Turn: one answer of a model within a session, with what it added to the turn before it. Nothing
// is stored twice: a conversation is the turns from the first one to it (turn_path.h), and turns
// that branch share the ones before. Immutable once committed, so that a reader needs no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "session/history/message_key.h"
#include "session/rows/packed_ints.h"

namespace windrow::session {

// In the order in which the turns of one session were committed, from 1.
using TurnId = Id<struct TurnTag>;

struct StoredMessage {
  MessageKey key;
  std::string text;  // the message as JSON
};

// Rows of numbers that the model's server tells of each token: which experts each layer chose
// (routed_experts), or what a sparse attention selected (indexer_topk). Row i belongs to token i;
// the last token of a conversation has none, because nothing was computed of it yet.
struct TokenRows {
  size_t first_row = 0;       // counted from the beginning of the conversation
  size_t values_per_row = 0;  // layers x top-k; not 0
  PackedInts values;

  size_t rows() const { return values.size() / values_per_row; }
  size_t end_row() const { return first_row + rows(); }
};

enum class RowKind : uint8_t { kRoutedExperts, kIndexerTopk };
inline constexpr size_t kRowKinds = 2;
inline constexpr RowKind kEveryRowKind[kRowKinds] = {RowKind::kRoutedExperts,
                                                     RowKind::kIndexerTopk};

// The member that has them in replies of servers: "routed_experts", "indexer_topk".
std::string_view to_string(RowKind kind);

// What the server reports of a turn, for records and samples.
struct TurnFigures {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  std::string weight_version;  // empty: not told
  int64_t spec_accepted = 0;   // speculative decoding: tokens accepted, proposed, and passes
  int64_t spec_drafted = 0;
  int64_t spec_passes = 0;
  std::optional<double> latency_s;  // `e2e_latency`: the server's own time for it
  int64_t indexer_layers = 0;       // `indexer_topk_num_layers`: those of a row; 0: not told
};

struct Turn {
  TurnId id;      // set by History::commit
  TurnId parent;  // 0: it is the first one of a conversation

  // The messages that the client sent behind those of the parent, then the answer.
  std::vector<StoredMessage> appended;
  StoredMessage answer;

  // Its tokens: the first `kept_tokens` of the parent's conversation, then `prompt`, then
  // `sampled`. All of the parent's are kept, but for an end token that the model's template writes
  // otherwise.
  size_t kept_tokens = 0;
  std::vector<int32_t> prompt;
  std::vector<int32_t> sampled;
  std::vector<double> logprobs;  // of `sampled`

  // Null: the server told none. They begin with the first row that the conversation lacked.
  std::shared_ptr<const TokenRows> rows[kRowKinds];

  std::string finish_reason;  // "stop", "length", "tool_calls", "abort", or another server's own
  TurnFigures figures;

  // For records: the members of the request that was sent to the model without messages, tools and
  // tokens, and those of the reply without choices; as JSON objects. Equal ones of several turns
  // are shared.
  std::shared_ptr<const std::string> request_members;
  std::shared_ptr<const std::string> reply_members;

  // The tools and arguments that the template was given beside the messages, and the tools that
  // were sent to the model (`sent_tools`), as a JSON object that is shared likewise.
  std::shared_ptr<const std::string> chat_members;
  double asked_at_unix_s = 0;
  double answered_at_unix_s = 0;

  bool is_cut() const { return finish_reason == "length"; }
  const TokenRows* rows_of(RowKind kind) const { return rows[static_cast<size_t>(kind)].get(); }
};

// The texts of which equal ones are shared by several turns; null where a turn has none.
std::array<std::shared_ptr<const std::string>, 3> shared_members(const Turn& turn);

// The memory that a turn takes, all that it owns included; shared members by their whole size,
// which bytes_of_members is of one of them.
size_t bytes_of(const Turn& turn);
size_t bytes_of_members(const std::string& members);

}  // namespace windrow::session
