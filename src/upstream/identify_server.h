// Asks an upstream which server it is.
#pragma once

#include "http/client.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

// Beside the question for its models (ask_upstream.h), what Ollama alone answers; and who it is by
// the replies to both. Pure.
http::ClientRequest version_question(const UpstreamOptions& options);
ServerIdentity identity_in(const http::ClientResult& models, const http::ClientResult& version);

// Blocks the calling thread, at most some seconds; not on the client's loop. What does not answer,
// or answers nonsense, is unknown: nothing depends on knowing it.
ServerIdentity identify_server(http::Client& client, const UpstreamOptions& options);

}  // namespace windrow::upstream
