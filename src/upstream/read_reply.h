// What became of a request: reads whole replies, as an Answer or as a Failure with its class, the
// time of the next attempt and a message for the owner of the job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/headers.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::upstream {

// When an overloaded server wants the next attempt, in milliseconds from now: `retry-after-ms`,
// `retry-after` (seconds, or a date compared with `now_unix_s`), else the later one of
// `x-ratelimit-reset-requests` and `-tokens` whose `x-ratelimit-remaining-...` is 0 ("1s", "6m0s",
// "250ms", seconds, or a Unix time). Absent where the reply does not say, or says nonsense; at most
// an hour, because a server that wants more is as good as gone.
std::optional<int64_t> retry_after_ms(const http::Headers& headers, int64_t now_unix_s);

// The server and the model of a request, for messages.
struct Asked {
  std::string_view server;  // "http://gpu1:8000"; outlives the reading
  std::string model;        // as the request named it; may be empty
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;

  // "it has llama3:8b and qwen3:4b"; null or empty: unknown. Outlives the reading.
  const std::string* models = nullptr;
};

// An Answer for a reply with status 2xx whose body is one JSON object of the endpoint's shape. Its
// text is kept as it is; white space between values is removed when it has line ends. Everything
// else is a Failure:
//   kRequest    the request is at fault and would fail again: other statuses from 400 to 499, the
//               context exceeded
//   kTransient  408, 409, 425, 429 and from 500 on (429, 503 and 529 are `overloaded`, with the
//               time of the next attempt); no connection, no answer in time; a reply that is no
//               JSON, is cut off or is not an answer
//   kBackend    401, 403 and redirects: the server would accept no request of this job
llm::Outcome read_reply(const Asked& asked, const http::ClientResult& result, int64_t now_unix_s);

}  // namespace windrow::upstream
