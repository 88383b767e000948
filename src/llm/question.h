// What a request asks, where asking it again brings the same answer: so that equal ones are
// answered once. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "llm/request.h"

namespace windrow::llm {

// Whether a body, or what is laid under it, says how its answer is drawn.
bool has_seed(const boost::json::object& body);

// Nothing where chance has a part in the answer. `body` is what `request` was read from, as it was
// written. White space is not part of the question, nor is how the client wants to be treated:
// stream, stream_options, priority, service_tier. `seeded`: the draws are those of a seed that an
// equal body has, too; without it only what is not drawn has a question. A raw request knows all
// this by itself (repeat_key in llm/raw_request.h) and needs neither.
std::optional<Hash128> question_of(const Request& request, std::string_view body, bool seeded);

}  // namespace windrow::llm
