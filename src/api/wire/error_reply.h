// A failure -> what a client is answered, in the shape of the OpenAI API or of Anthropic's. Pure.
//
//   {"error": {"message", "type", "param", "code"}}
//   {"type": "error", "error": {"type", "message"}, "request_id"}    at /v1/messages
//   {"error": "..."}                                                 at /api, which is Ollama's
//
// Clients act on the status: 4xx is theirs, 408, 429 and 5xx are worth another try.
#pragma once

#include <string>
#include <string_view>

#include "api/wire/dialect.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// By the class of the failure:
//   kRequest    its own
//   kTransient  429 or 503 where there is too much to do, 504, else 502
//   kCancelled  503: a client that still listens has not asked for that
//   kBackend    its own, or 500
// Anthropic's status for too much to do is 529, for all who ask together; 429 is a limit of a key.
int status_of(const llm::Failure& failure, Dialect dialect = Dialect::kOwn);

// The body, one line. A server elsewhere is quoted where it spoke in this shape. An empty
// request_id is left out.
std::string error_body(const llm::Failure& failure, Dialect dialect = Dialect::kOwn,
                       std::string_view request_id = "");

// With Retry-After where another try may help, and x-should-retry: false where clients would make
// one that cannot.
http::ServerReply error_reply(const llm::Failure& failure, Dialect dialect = Dialect::kOwn,
                              std::string_view request_id = "");

// What http answers by itself: no such path, a method it does not take, a limit.
http::ServerReply error_reply(int status, std::string_view message, Dialect dialect = Dialect::kOwn,
                              std::string_view request_id = "");

// The error's code there.
std::string_view code_of(int status);

}  // namespace windrow::api
