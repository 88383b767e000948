// What a server answers whoever asks for whatever: why it takes no call at the moment, and what it
// never has.
#pragma once

#include "llm/answer.h"

namespace windrow::api {

llm::Failure loading();      // 503: its models are not there yet
llm::Failure stopping();     // 503
llm::Failure unreachable();  // 503: none of the servers elsewhere answers
llm::Failure full();         // 429: bodies take all the memory there is for them

llm::Failure nothing_stored();  // 404: of a response that was answered once

}  // namespace windrow::api
