// The texts a simulated upstream answers with: made of the request and the seed alone, so that the
// same request gets the same answer whenever it comes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"

namespace windrow::sim_upstream {

// How many tokens one answer has before any limit, drawn as SimOptions says.
int64_t draw_answer_tokens(const SimOptions& options, std::string_view prompt, int32_t choice);

// The text of one choice. `tokens` words for kText; an echo and an object are as long as they are,
// whatever the tokens that were counted and waited for.
std::string answer_text(const SimOptions& options, const ModelCall& call, size_t prompt,
                        int32_t choice, int64_t tokens);

// JSON that a schema for `json` hardly fits: lists where there was an object, objects where there
// was none.
std::string in_another_shape(const std::string& json);

// A direction of length one that belongs to the text.
std::vector<float> embedding_of(std::string_view text, int64_t dimensions);

}  // namespace windrow::sim_upstream
