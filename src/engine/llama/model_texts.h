// What libllama says of a model, in words that a person can use. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::engine {

// libllama's description of a model ("qwen3 ?B all F32 (guessed)") with its size where libllama has
// no name for it, and without the word that nobody can do anything with.
std::string described_model(std::string_view description, uint64_t parameters);

// Why a file could not be loaded: libllama's reason, and what to do where that is known.
std::string load_failure(std::string_view reason);

}  // namespace windrow::engine
