// Texts or token ids, in the four forms that OpenAI's `prompt` and `input` may have.
#pragma once

#include <vector>

#include "llm/json_values.h"
#include "llm/request.h"

namespace windrow::llm {

constexpr size_t kInputsMax = 2048;  // as many as OpenAI takes

// A string, an array of strings, an array of token ids, or an array of such arrays.
Problem read_inputs(std::string_view name, const boost::json::value& value,
                    std::vector<Input>& inputs);

// "`name` has 3000 texts; at most 2048 are accepted".
Problem check_input_count(std::string_view name, size_t count);

}  // namespace windrow::llm
