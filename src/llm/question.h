// The identity of a request for single-flight and caches: equal for requests that have the same
// answer. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "llm/request.h"

namespace windrow::llm {

// Whether a completed body has a seed.
bool has_seed(const boost::json::object& body);

// Nothing if the answer is drawn at random. `body` is the text that `request` was read from. White
// space does not count, nor do fields about delivery: stream, stream_options, priority,
// service_tier. `seeded`: an equal body has the same seed; without it only deterministic requests
// have a question. For a raw request neither is needed (repeat_key in llm/raw_request.h).
std::optional<Hash128> question_of(const Request& request, std::string_view body, bool seeded);

}  // namespace windrow::llm
