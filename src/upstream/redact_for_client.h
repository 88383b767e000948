// What the clients of a server in front are told of a failure of one behind it: what happened and
// what they can do, and not where that server is or what its operator has to mend. Pure.
#pragma once

#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::upstream {

// The message of `failure`, in which a server that answers at `origin` ("http://gpu1:8000") is
// called `name` ("a server behind this one"). What the server itself said stays.
std::string redact_for_client(const llm::Failure& failure, std::string_view origin,
                              std::string_view name);

// `failure` as clients are told: with these words; where the server did not let its client in, or
// points elsewhere, 502 with nothing of what it said, for that is between it and who runs this.
llm::Failure for_clients(llm::Failure failure, std::string_view origin, std::string_view name);

}  // namespace windrow::upstream
