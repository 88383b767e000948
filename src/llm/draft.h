// Draft: a Request while its body is read. Fields come in any order, so what two of them say
// together is settled when all of them are read.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/json_values.h"
#include "llm/request.h"

namespace windrow::llm {

// The most likely tokens that an answer may list beside each of its own. OpenAI has 20 for chat and
// 5 for completions.
constexpr int32_t kTopLogprobsMax = 20;

struct Draft {
  Request request;

  std::optional<int32_t> max_tokens;
  std::optional<int32_t> max_completion_tokens;
  std::optional<float> repetition_penalty;
  std::optional<float> repeat_penalty;  // llama-server's name of the same
  std::optional<int32_t> best_of;

  // Chat has a switch and a count; completions has the count alone.
  bool list_logprobs = false;
  std::optional<int32_t> top_logprobs;

  std::string reasoning_effort;
};

// Reads one field that is not null.
using FieldReader = Problem (*)(std::string_view name, const boost::json::value& value,
                                Draft& draft);

}  // namespace windrow::llm
