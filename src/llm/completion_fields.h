// Fields that only /v1/completions has.
#pragma once

#include "llm/draft.h"

namespace windrow::llm {

Problem read_prompt(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_echo(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logprobs_count(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_best_of(std::string_view name, const boost::json::value& value, Draft& draft);

Problem settle_completions(Draft& draft);

}  // namespace windrow::llm
