// StepReport: what one forward pass of a model did, for those who count (metrics, logs). Made by
// the engine after each pass that ran; nothing in it says whose the rows were.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace windrow::llm {

// What a pass was for.
enum class StepKind : uint8_t {
  kGenerate,  // rows that decode, and prompts before them
  kEmbed,
  kRank,
};

// Why a pass began when it did. Generation never waits for company, so it has kWork only.
enum class StepReason : uint8_t {
  kWork,    // there was something to compute
  kIdle,    // nothing else ran, so nothing was waited for
  kFull,    // as much had come as a pass should have
  kLinger,  // what had come first waited as long as it may for company
  kWindow,  // a fixed time to collect was over
  kBehind,  // more had come while another pass ran
};

struct StepReport {
  StepKind kind = StepKind::kGenerate;
  StepReason reason = StepReason::kWork;

  // kGenerate: rows with one token or a forced run to compute, and rows that compute a prompt.
  // Else rows_prefilling counts the inputs.
  int32_t rows_decoding = 0;
  int32_t rows_prefilling = 0;

  int32_t tokens = 0;         // computed
  int32_t cached_tokens = 0;  // not computed, by rows that took part for the first time
  int32_t outputs = 0;        // logits, vectors or scores that came of it

  // Rows that lost their place since the pass before, to be computed again.
  int32_t preempted = 0;

  // Of the model; what followed (sampling, and waiting for masks) is not in it.
  Duration duration{};
  Duration sampling{};   // with the wait for masks
  Duration mask_wait{};  // of `sampling`: rows of a structure waited for what may come next
};

// Called after each pass, on the thread that ran it, which waits for it.
using StepObserver = std::function<void(const StepReport&)>;

}  // namespace windrow::llm
