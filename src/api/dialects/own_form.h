// What a backend made of a translated chat, in the form that other dialects tell it in. Pure.
#pragma once

#include "api/dialects/origins.h"
#include "llm/answer.h"

namespace windrow::api {

// The answer of a server elsewhere becomes one of ours; what cannot be read as one is a failure. A
// failure is said in the words of the body that was sent.
llm::Outcome in_own_form(const Origins& origins, llm::Outcome outcome);

}  // namespace windrow::api
