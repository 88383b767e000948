// When a server that has too much to do wants to be asked again. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "http/headers.h"

namespace windrow::upstream {

// In milliseconds from now: `retry-after-ms`, `retry-after` (seconds, or a date compared with
// `now_unix_s`), else the later one of `x-ratelimit-reset-requests` and `-tokens` whose
// `x-ratelimit-remaining-...` is 0 ("1s", "6m0s", "250ms", seconds, or a Unix time). Nothing where
// the reply does not say, or says nonsense; at most an hour, because a server that wants more is as
// good as gone.
std::optional<int64_t> retry_after_ms(const http::Headers& headers, int64_t now_unix_s);

}  // namespace windrow::upstream
