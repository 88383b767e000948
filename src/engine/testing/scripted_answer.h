// What the scripted model answers to a request that runs alone: the plainest loop there can be,
// with no plan, no steps and no cache, its probabilities by a full sort. The engine must agree with
// it in everything.
#pragma once

#include "engine/generate/step_loop.h"
#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine::testing {

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size);

// Whether two choices are the same, log-probabilities to 1e-5; where they are not, `why` says so.
bool same_choice(const llm::Choice& a, const llm::Choice& b, std::string& why);

}  // namespace windrow::engine::testing
