// ModelRunner: a loaded model and its memory, reduced to what the engine does with them: run a
// ragged step and read logits. The engine knows no library beyond this interface. Implementations:
// engine/llama/llama_runner.h, engine/sim/sim_runner.h and, for tests,
// engine/testing/scripted_runner.h.
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

// Which prefixes of a sequence another sequence can share.
enum class Sharing : uint8_t {
  kAnyRange,  // any: attention over a full cache
  kExactEnd,  // all of it only: recurrent, hybrid and sliding-window models
  kNothing,
};

constexpr std::string_view to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::kAnyRange:
      return "any range";
    case Sharing::kExactEnd:
      return "exact end only";
    case Sharing::kNothing:
      return "nothing";
  }
  return "unknown";
}

struct RunnerLimits {
  int32_t cells_max = 0;           // tokens that all sequences may hold, shared ones counted once
  int32_t rows_max = 0;            // rows in one step
  int32_t sequences_max = 0;       // sequence ids are 0 .. sequences_max - 1
  int32_t step_tokens_max = 0;     // tokens in one step
  int32_t step_outputs_max = 0;    // tokens with logits in one step; at least rows_max
  int32_t row_tokens_max = 0;      // tokens in one sequence
  int32_t row_tokens_trained = 0;  // the context the model was trained for; >= row_tokens_max
  int32_t vocabulary_size = 0;
  Sharing sharing = Sharing::kNothing;
  int32_t compact_cells_max = 0;  // kCompact can move so many cells; 0: it is not supported
  bool mixes = true;              // prefill and decoding rows can share one pass
};

// The tokens that one row brings to a step.
struct StepRow {
  SequenceId sequence;
  Position first = 0;             // position of tokens[0]: how many the sequence holds so far
  std::span<const Token> tokens;  // at least one
  int32_t outputs_count = 0;      // logits are wanted of its last so many tokens
};

// A change to the model's memory between two steps.
struct MemoryChange {
  enum class Kind : uint8_t {
    kShare,     // `sequence`, which is empty, shares the first `tokens` tokens of `from`
    kTruncate,  // `sequence` keeps its first `tokens` tokens; 0: none
    kCompact,   // all cells move together at the low end
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

  // Cannot fail. A model with Sharing::kExactEnd is only asked to share whole sequences and to
  // truncate to 0 tokens, one with kNothing only to truncate to 0. An empty sequence may be
  // truncated.
  virtual void change(const MemoryChange& change) = 0;

  // One forward pass over all rows, each of another sequence. Blocks until it is done. The caller
  // keeps to limits(), which is checked with ENSURE.
  //   kNoSpace      the memory has no space for the step; every sequence is as before
  //   kInvalid      the step failed; what its sequences hold is undefined: truncate them to 0
  //   kUnavailable  the model can run nothing any more
  virtual Result<void> run(std::span<const StepRow> step) = 0;

  // The index-th logits of the last step, in the order of its rows and their tokens:
  // vocabulary_size numbers, valid until the next run().
  virtual std::span<const float> logits(size_t index) const = 0;

  virtual DeviceMemory device_memory() const { return {}; }
};

}  // namespace windrow::engine
