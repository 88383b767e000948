// ScheduledRow: the state of one row in BatchScheduler, which owns it, and what follows from it.
// KvMemory, PrefixSharing, AdmissionPolicy and StepComposer read rows and are given them by
// reference. Used by one thread at a time.
//
// A row waits (no sequence); or it runs: first blocked while another row computes its prefix
// (`begun` is false), then computing its prompt in chunks, then decoding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/host/types.h"
#include "llm/priority.h"

namespace windrow::engine {

struct ScheduledRow {
  RowId id;
  const std::vector<Token>* source = nullptr;  // NewRow::tokens
  int32_t tokens = 0;                          // known: prompt and answer so far
  int32_t tokens_max = 0;                      // it ends there at the latest
  int32_t prompt_tokens = 0;
  Position outputs_from = 0;  // the first token whose logits were not handed out yet
  std::optional<int32_t> scores_top;
  bool keep = false;
  bool is_suspect = false;  // it may have made a step fail, and runs alone
  llm::Priority priority = llm::Priority::kNormal;

  // Its place in the order of rows: its priority, or the highest once it was bypassed often enough.
  llm::Priority rank = llm::Priority::kNormal;

  // The highest rank of rows that wait for the prefix it computes.
  llm::Priority inherited_priority = llm::Priority::kBatch;

  int32_t bypass_count = 0;     // rows of higher priority that went first
  int32_t computed = 0;         // tokens in the cells of its sequence
  int32_t computed_before = 0;  // the most it had there before a preemption
  SequenceId sequence = SequenceId(-1);
  bool begun = false;           // it has attached what it shares and computes the rest
  int32_t shared_expected = 0;  // tokens that it is expected to share; while not begun

  // Where the model shares only ends: up to here its tokens can be shared, because it began with
  // them or a snapshot was taken.
  int32_t snapshot_at = 0;
  int32_t stop_at = 0;  // its chunk ends here, so that another row can share; 0: nowhere

  bool has_sequence() const { return sequence.value() >= 0; }
  int32_t pending() const { return tokens - computed; }

  std::span<const Token> known() const {
    return std::span(*source).first(static_cast<size_t>(tokens));
  }

  // The tokens that it may share without their scores. It computes the token whose logits it wants
  // next itself.
  std::span<const Token> shareable() const {
    return known().first(static_cast<size_t>(std::min(tokens - 1, outputs_from)));
  }

  // It wants logits before its last token, and takes kept scores instead.
  bool wants_scores() const { return scores_top && outputs_from < tokens - 1; }

  // It computes the tokens it appended last: one, or a forced run. A longer run than this is
  // computed as a prompt is, after the rows that decode.
  bool is_decoding() const {
    constexpr int32_t kRunTokensMax = 64;
    if (pending() == 1) return true;
    return pending() > 1 && pending() <= kRunTokensMax && computed >= prompt_tokens;
  }

  // The logits wanted of its next `count` tokens, and how many tokens bring no more logits than
  // `outputs_max`.
  int32_t outputs_of(int32_t count) const {
    return std::max(0, computed + count - std::max(computed, outputs_from));
  }
  int32_t tokens_for_outputs(int32_t outputs_max) const {
    return std::max(0, outputs_from - computed) + outputs_max;
  }

  // Priority inheritance: a row that others wait for has their rank if it is higher.
  llm::Priority effective_priority() const { return std::min(rank, inherited_priority); }
  bool is_background() const { return effective_priority() == llm::Priority::kBatch; }
};

// The running rows in their order: by rank, then by age.
using RunningRows = std::span<ScheduledRow* const>;

}  // namespace windrow::engine
