// A failure as an HTTP reply, in the error format of each dialect. Pure.
//
//   {"error": {"message", "type", "param", "code"}}
//   {"type": "error", "error": {"type", "message"}, "request_id"}    at /v1/messages
//   {"error": "..."}                                                 at /api (Ollama)
//
// Clients act on the status: they retry 408, 429 and 5xx, and no other 4xx.
#pragma once

#include <string>
#include <string_view>

#include "api/wire/dialect.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// By the class of the failure:
//   kRequest    its own
//   kTransient  429 or 503 for overload, 504, else 502
//   kCancelled  503: a client that is still connected did not ask for that
//   kBackend    its own, or 500
// Anthropic's status for an overloaded server is 529; there, 429 is the limit of a key.
int status_of(const llm::Failure& failure, Dialect dialect = Dialect::kOwn);

// The body, one line. An upstream's own error is passed on if it has this format. An empty
// request_id is left out.
std::string error_body(const llm::Failure& failure, Dialect dialect = Dialect::kOwn,
                       std::string_view request_id = "");

// With Retry-After if a retry may help, and x-should-retry: false if clients would retry in vain.
http::ServerReply error_reply(const llm::Failure& failure, Dialect dialect = Dialect::kOwn,
                              std::string_view request_id = "");

// For errors of the HTTP server itself: unknown paths, methods, limits.
http::ServerReply error_reply(int status, std::string_view message, Dialect dialect = Dialect::kOwn,
                              std::string_view request_id = "");

// The error code for such a status.
std::string_view code_of(int status);

}  // namespace windrow::api
