// Answer -> the JSON of a response body, in the shapes of the OpenAI API and, for rerank, of
// Jina's.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// One line of JSON; a raw answer as it is. `id` without the prefix that the endpoint adds
// ("chatcmpl-", "cmpl-"...).
std::string answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                           int64_t created_unix_s, const Answer& answer);

// ,"structure_warnings":[...] to stand behind another member; nothing where there are none.
void append_structure_warnings(const std::vector<std::string>& warnings, std::string& text);

// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
// "completion_tokens_details"}
void append_usage(const Usage& usage, std::string& text);

// {"error": {"message", "type", "param", "code"}}
boost::json::object failure_to_json(const Failure& failure);

}  // namespace windrow::llm
