// Answer -> the JSON of a response body, in the format of the OpenAI API and, for rerank, of
// Jina's. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// The body, one line of JSON; a raw answer is returned unchanged. `id` has no prefix ("chatcmpl-",
// "cmpl-"...): the endpoint adds it.
std::string answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                           int64_t created_unix_s, const Answer& answer);

// Appends ,"structure_warnings":[...] behind another member; nothing if there are none.
void append_structure_warnings(const std::vector<std::string>& warnings, std::string& text);

// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
// "completion_tokens_details"}
void append_usage(const Usage& usage, std::string& text);

// {"error": {"message", "type", "param", "code"}}
boost::json::object failure_to_json(const Failure& failure);

}  // namespace windrow::llm
