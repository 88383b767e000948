// What faults make of replies, and the replies that are faults themselves. Pure.
#pragma once

#include <optional>

#include "sim_upstream/faults.h"
#include "sim_upstream/reply.h"

namespace windrow::sim_upstream {

// What a fault does to a whole reply. False: nothing; it strikes elsewhere.
bool strike_reply(const Strike& strike, SimReply& reply);

// The refusal that a fault of one status is, without headers; nullopt: it is another fault. Of
// kServerError, and the kinds of 429, the caller chooses.
std::optional<SimReply> refusal_of(FaultKind kind);

// Makes a refusal one of plain text, as a proxy would send it.
void make_plain(SimReply& reply);

// Whether the answer to a stream is whole: an error, a web page or another text, with status 200.
bool is_never_streamed(FaultKind kind);

}  // namespace windrow::sim_upstream
