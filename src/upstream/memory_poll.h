// MemoryPoll: asks one server now and then how full its memory is: one request at a time, at once
// at first and then after 1, 2, 4 ... 10 s, so that a short job gets a reading too. A server that
// gives no reading three times is not asked again. Any thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "http/client.h"
#include "upstream/device_memory.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

class MemoryPoll {
 public:
  // The last reading, and the highest.
  struct Reading {
    MemoryReading now;
    MemoryReading most;
  };

  // Asks Ollama for its loaded models, other servers for their metrics page; never those that have
  // neither. `client` and `clock` outlive it. Uses the address and the key of `options`.
  MemoryPoll(http::Client& client, const Clock& clock, const UpstreamOptions& options,
             ServerKind kind);

  // Sends a request if one is due; does not wait for the reply.
  void ask_when_due();

  Reading reading() const;

 private:
  struct State;

  http::Client& client_;
  const Clock& clock_;
  const ServerKind kind_;
  http::ClientRequest request_;

  // Shared with the request in flight.
  std::shared_ptr<State> state_;
};

}  // namespace windrow::upstream
