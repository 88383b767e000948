// The answer of the scripted model to a request that runs alone, by the simplest loop possible: no
// scheduler, no steps, no cache, probabilities by a full sort. The engine must agree with it in
// everything.
#pragma once

#include "engine/generate/step_loop.h"
#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine::testing {

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size);

// Whether two choices are equal, log-probabilities within 1e-5; if not, `why` says where.
bool same_choice(const llm::Choice& a, const llm::Choice& b, std::string& why);

}  // namespace windrow::engine::testing
