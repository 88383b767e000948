// MemoryPoll: asks one server now and then how full its memory is, beside the work and never in its
// way: one question at a time, at once at first and then after 1, 2, 4 ... 10 s, so that a short
// job sees something too. A server that tells nothing three times is not asked again. Any thread.
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
  // What the server said last, and the fullest that it ever said.
  struct Reading {
    MemoryReading now;
    MemoryReading most;
  };

  // Asks Ollama for its models, others for their metrics; those that have neither, never. `client`
  // and `clock` outlive it; of `options` it takes the address and the key.
  MemoryPoll(http::Client& client, const Clock& clock, const UpstreamOptions& options,
             ServerKind kind);

  // Sends a question if it is time for one; does not wait for the answer.
  void ask_when_due();

  Reading reading() const;

 private:
  struct State;

  http::Client& client_;
  const Clock& clock_;
  const ServerKind kind_;
  http::ClientRequest request_;

  // Shared with the question that is out.
  std::shared_ptr<State> state_;
};

}  // namespace windrow::upstream
