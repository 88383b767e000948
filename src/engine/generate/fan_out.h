// Fan-out: a request with several prompts and several choices of each becomes rows of the engine,
// and their answers one answer. Pure but for the memory the rows share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/generate/answer_reading.h"
#include "engine/generate/step_loop.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

// The seed of a prompt's choice. Choice 0 has the request's own, so it is the answer that the
// request would have without `choices`; every prompt has the answers it would have by itself.
uint64_t seed_of_choice(uint64_t seed, int32_t choice);

struct FanOutLimits {
  int32_t row_tokens_max = 0;
  int32_t output_tokens_default = 1;       // of a request that names no limit itself
  bool keep = false;                       // EngineRequest::keep
  std::shared_ptr<const AnswerForm> form;  // EngineRequest::form
  AnswerReading reading;                   // the same of a chat
};

// The rows of a request whose prompts are tokenised and fit: those of one prompt side by side.
// `done` is called once, on the device thread: with the whole answer when all rows have theirs, or
// with the first failure; the other rows are then abandoned, so that they cost no more steps. The
// listener of the call gets each choice as it is made.
//
// Usage counts a prompt once, whatever its choices; timings run from the request's first step to
// its first token to its last.
std::vector<EngineRequest> fan_out(const llm::BackendCall& call,
                                   std::vector<std::vector<Token>> prompts,
                                   const Vocabulary& vocabulary, const FanOutLimits& limits,
                                   TimePoint submitted_at, llm::Backend::Done done);

}  // namespace windrow::engine
