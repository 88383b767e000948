// What became of a request, told from the reply of an OpenAI-compatible server. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/client.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::upstream {

// For messages: who was asked.
struct Asked {
  std::string_view server;  // "http://gpu1:8000"; outlives the reading
  std::string model;        // as it was asked for; empty: none was
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;

  // "it has llama3:8b and qwen3:4b"; null or empty: it does not say. Outlives the reading.
  const std::string* models = nullptr;
};

// An Answer for a reply with status 2xx whose body is one JSON object of the endpoint's shape; its
// text is kept, without white space between values when that holds line ends. Everything else is a
// Failure:
//   kRequest    the request is at fault and would be again: other statuses from 400 to 499, the
//               context exceeded
//   kTransient  408, 409, 425, 429 and from 500 on (429, 503 and 529 are `overloaded`, with when
//   the
//               server wants to be asked again); no connection, no answer in time; a reply that is
//               no JSON, is cut off or is not an answer
//   kBackend    401, 403 and redirects: no request of this job would be let in
llm::Outcome read_reply(const Asked& asked, const http::ClientResult& result, int64_t now_unix_s);

}  // namespace windrow::upstream
