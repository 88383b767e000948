// What the scripted model answers to a request that runs alone: the plainest loop there can be,
// with no plan, no steps and no cache. The engine must agree with it in everything.
#pragma once

#include "engine/step_loop.h"
#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine::testing {

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size);

}  // namespace windrow::engine::testing
