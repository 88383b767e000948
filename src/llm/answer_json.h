// Answer -> the JSON of an OpenAI response body.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// `id` without the prefix that the endpoint adds ("chatcmpl-", "cmpl-").
boost::json::object answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                                   int64_t created_unix_s, const Answer& answer);

// {"error": {"message", "type", "param", "code"}}
boost::json::object failure_to_json(const Failure& failure);

}  // namespace windrow::llm
