// What a backend made of a translated body, in the form that other dialects tell it in. Pure.
#pragma once

#include "api/wire/origins.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::api {

// The answer of a server elsewhere becomes one of ours; what cannot be read as one is a failure. A
// failure is said in the words of the body that was sent. `endpoint` of the translation.
llm::Outcome in_own_form(llm::Endpoint endpoint, const Origins& origins, llm::Outcome outcome);

}  // namespace windrow::api
