// StepReport: what one forward pass of a model did, for metrics and logs. Made by the engine after
// each pass. Which requests took part, RowTrace says to those that ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/clock.h"

namespace windrow::llm {

// The purpose of a pass.
enum class StepKind : uint8_t {
  kGenerate,  // rows that decode, and prompts before them
  kEmbed,
  kRank,
};

// Why a pass began when it did. Generation never delays a pass, so it has kWork only.
enum class StepReason : uint8_t {
  kWork,    // there was something to compute
  kIdle,    // the device was idle, and a delay would have gained nothing
  kFull,    // the batch was as large as a pass should be
  kLinger,  // the first input had waited for the longest allowed delay
  kWindow,  // a fixed time for collecting inputs was over
  kBehind,  // inputs had arrived while another pass ran
};

struct StepReport {
  StepKind kind = StepKind::kGenerate;
  StepReason reason = StepReason::kWork;

  // kGenerate: rows that decode (one token, or a jump-forward) and rows that compute a prompt.
  // Otherwise rows_prefilling counts the inputs.
  int32_t rows_decoding = 0;
  int32_t rows_prefilling = 0;

  int32_t tokens = 0;         // computed
  int32_t cached_tokens = 0;  // taken from the cache by rows in their first pass
  int32_t outputs = 0;        // logits, vectors or scores

  // Rows preempted since the pass before.
  int32_t preempted = 0;

  // The time of the model, without what followed it.
  Duration duration{};
  Duration sampling{};   // with the wait for masks
  Duration mask_wait{};  // part of `sampling`
};

// Called after each pass, on the thread that ran it, which it blocks.
using StepObserver = std::function<void(const StepReport&)>;

// The part of one row in a pass of StepKind::kGenerate.
struct RowTrace {
  uint64_t tag = 0;           // BackendCall::trace_tag; 0: none was given
  int32_t tokens = 0;         // computed
  int32_t cached_tokens = 0;  // taken from the cache, in the row's first pass
  bool is_decoding = false;   // else it computes its prompt, or again after a preemption

  friend bool operator==(const RowTrace&, const RowTrace&) = default;
};

// Called after each pass with its rows, on the thread that ran it, which it blocks, and before the
// answers that the pass ended. The rows are valid during the call.
using RowObserver = std::function<void(const StepReport&, std::span<const RowTrace>)>;

}  // namespace windrow::llm
