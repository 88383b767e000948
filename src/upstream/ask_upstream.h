// Asks a server who it is, before a job sends it anything: whether it can be reached, whether it
// takes the key, which models it has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

struct UpstreamFacts {
  // Absent: the server does not say, which not every one does.
  std::optional<std::vector<std::string>> models;
};

// The question, and what its reply says. Fails with kUnavailable and what to do next: nothing is
// there, no TLS, a proxy in the way, the key is refused, what answers is no such server. Pure.
http::ClientRequest models_question(const UpstreamOptions& options);
Result<UpstreamFacts> facts_in(const UpstreamOptions& options, const http::ClientResult& result);

// Blocks the calling thread, at most some seconds; not on the client's loop. Fails as
// facts_in.
Result<UpstreamFacts> ask_upstream(http::Client& client, const UpstreamOptions& options);

}  // namespace windrow::upstream
