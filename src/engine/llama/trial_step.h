// The first pass of a new context, of one token: some values of a model's header are looked at
// only there, by assertions that end the process, and others make every result NaN. Here both are
// errors of this model alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

struct llama_context;

namespace windrow::engine {

// Runs one token through the context, on this thread alone, which takes as long as one thread needs
// to read the weights, and empties the context's memory again. `threads`: what the context has and
// gets back. kInvalid when libllama cannot compute it, or when what it computes is NaN: then the
// context may only be freed, and what libggml had in hand (some hundred bytes) is never freed. By
// the thread that made the context.
Result<void> trial_step(llama_context& context, int32_t threads, const std::string& path);

}  // namespace windrow::engine
