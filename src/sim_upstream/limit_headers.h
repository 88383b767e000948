// What replies say of a quota. Pure.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "sim_upstream/faults.h"
#include "sim_upstream/rate_limit.h"
#include "sim_upstream/sim_reply.h"

namespace windrow::sim_upstream {

// A 429: `what` ("requests", "tokens") is over its `limit` for `wait`. A storm without a quota has
// no number to tell.
SimReply limit_reply(LimitHeaders style, std::string_view what, const RateLimit& limit,
                     Duration wait);

// What is left of a quota, on every answer of a server that has one.
void add_limit_headers(std::string_view what, const RateLimit& limit, TimePoint now,
                       http::Headers& headers);

}  // namespace windrow::sim_upstream
