// Asks an upstream which server it is.
#pragma once

#include "http/client.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

// Blocks the calling thread, at most some seconds; not on the client's loop. What does not answer,
// or answers nonsense, is unknown: nothing depends on knowing it.
ServerIdentity identify_server(http::Client& client, const UpstreamOptions& options);

}  // namespace windrow::upstream
