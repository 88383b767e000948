// Asks an upstream server, before it gets any request, what it is: whether it can be reached,
// whether it takes the key, which product it is and which models it has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

// The ids of `{"data":[{"id":...}]}`, which /v1/models answers; absent where the text is something
// else: not every server has that route. Pure.
std::optional<std::vector<std::string>> models_of(std::string_view body);

// "it has llama3:8b, qwen3:4b and 7 more"; "it has no models".
std::string models_text(const std::vector<std::string>& models);

// Whether one of these models has this name. Ollama's "llama3" is "llama3:latest". Pure.
bool has_model(const std::vector<std::string>& models, std::string_view name);

struct UpstreamFacts {
  // Absent: the server does not list them.
  std::optional<std::vector<std::string>> models;
};

// The request for a server's models, and what the reply to it says. Errors: kUnavailable, with what
// to do next: no connection, no TLS, a proxy in the way, the key is refused, a web page. Pure.
http::ClientRequest models_question(const UpstreamOptions& options);
Result<UpstreamFacts> facts_in(const UpstreamOptions& options, const http::ClientResult& result);

// Sends that request and waits for its reply. Blocks for up to 40 s; not on the client's loop.
// Errors as facts_in.
Result<UpstreamFacts> ask_upstream(http::Client& client, const UpstreamOptions& options);

// A request that only Ollama answers, and which product a server is by the replies to both
// requests. Pure.
http::ClientRequest version_question(const UpstreamOptions& options);
ServerIdentity identity_in(const http::ClientResult& models, const http::ClientResult& version);

// Sends both requests and waits. Blocks for some seconds; not on the client's loop. A server that
// does not answer, or answers nonsense, is of an unknown product.
ServerIdentity identify_server(http::Client& client, const UpstreamOptions& options);

}  // namespace windrow::upstream
