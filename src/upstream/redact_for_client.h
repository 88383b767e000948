// The failure of an upstream server as clients of `windrow serve` see it: what happened and what
// they can do, without the address of the server and without what only its operator can fix. Pure.
#pragma once

#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::upstream {

// The message of `failure`, in which the server at `origin` ("http://gpu1:8000") is called `name`
// ("a server behind this one"). Text that the server itself sent stays.
std::string redact_for_client(const llm::Failure& failure, std::string_view origin,
                              std::string_view name);

// `failure` with that message. Where the server refused this program's key or redirected it, a 502
// without anything that the server sent: only the operator can act on that.
llm::Failure for_clients(llm::Failure failure, std::string_view origin, std::string_view name);

}  // namespace windrow::upstream
