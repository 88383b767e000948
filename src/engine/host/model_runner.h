// ModelRunner: a loaded model and its memory, reduced to the one thing the engine does with them:
// run a ragged step and read logits. The engine above knows no library; implementations are
// engine/llama/llama_runner.h and, for tests, engine/testing/scripted_runner.h.
//
// A step is ragged: each row brings as many tokens as it has to compute, one while decoding, many
// while prefilling (iteration-level batching, Orca, OSDI 2022; chunked prefill, Sarathi, 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/host/types.h"

namespace windrow::engine {

// What of one sequence's memory another could take over. Decides how prefixes may be shared.
enum class Sharing : uint8_t {
  kAnyRange,  // attention over a full cache
  kExactEnd,  // recurrent, hybrid and sliding-window models: only the state at its present end
  kNothing,
};

std::string_view to_string(Sharing sharing);

struct RunnerLimits {
  int32_t cells_max = 0;           // tokens that all sequences together may hold, shared ones once
  int32_t rows_max = 0;            // rows in one step; the other sequences keep prefixes
  int32_t sequences_max = 0;       // sequence ids are 0 .. sequences_max - 1
  int32_t step_tokens_max = 0;     // tokens in one step
  int32_t step_outputs_max = 0;    // logits in one step; at least rows_max
  int32_t row_tokens_max = 0;      // tokens in one sequence
  int32_t row_tokens_trained = 0;  // that the model was trained for; less may fit, never more
  int32_t vocabulary_size = 0;
  Sharing sharing = Sharing::kNothing;
  int32_t compact_cells_max = 0;  // so many cells can be moved at once; 0: never
  bool mixes = true;              // chunks and decoding rows cost one pass together, not one each
};

// What one row brings to a step.
struct StepRow {
  SequenceId sequence;
  Position first = 0;             // position of tokens[0]: what the sequence holds so far
  std::span<const Token> tokens;  // at least one
  int32_t outputs_count = 0;      // logits are wanted after each of the last so many tokens
};

// What becomes of one sequence between two steps.
struct MemoryChange {
  enum class Kind : uint8_t {
    kShare,    // it was empty and takes over the first `tokens` tokens of `from`
    kTruncate, // it keeps its first `tokens` tokens; 0: none
    kCompact,  // not one sequence: all cells move to the low end, where RunnerLimits allows it
  };

  Kind kind;
  SequenceId sequence;
  int32_t tokens = 0;
  SequenceId from;  // kShare
};

struct DeviceMemory {
  uint64_t used_bytes = 0;
  uint64_t max_bytes = 0;
};

// Used by one thread at a time.
class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  virtual const RunnerLimits& limits() const = 0;

  // Cannot fail. A model that shares only ends is asked to share whole sequences and to keep no
  // tokens, one that shares nothing only for the latter. Nothing happens to an empty sequence.
  virtual void change(const MemoryChange& change) = 0;

  // One forward pass over all rows; no two of them share a sequence. The rows must keep to
  // limits(); that is the caller's promise, checked with ENSURE.
  //   kNoSpace      the memory cannot take the step; every sequence is as before
  //   kInvalid      the step failed; what its sequences hold is unknown, and must be forgotten
  //   kUnavailable  the model can run nothing any more
  virtual Result<void> run(std::span<const StepRow> step) = 0;

  // The index-th logits of the last step, in the order of its rows and of their tokens;
  // vocabulary_size numbers, valid until the next call of run.
  virtual std::span<const float> logits(size_t index) const = 0;

  virtual DeviceMemory device_memory() const { return {}; }
};

}  // namespace windrow::engine
