// LeanClient: calls to plain HTTP/1.1 servers nearby, where thousands a second cost as little as
// can be: for a call on a kept connection one write, one read and no allocation beyond the call and
// its reply. No TLS, no proxy, no compression, no redirects; CurlClient has those, and open_client
// chooses.
//
// One call at a time on a connection, as many connections as there are calls. A name that has
// several addresses is tried in their order.
#pragma once

#include <cstddef>
#include <memory>

#include "http/client.h"
#include "http/loop.h"
#include "http/reply_room.h"

namespace windrow::http {

struct LeanClientOptions {
  // Connections that may be open for one of them to be kept for later calls, of all hosts together.
  size_t connections_max = size_t{1} << 16;

  // Of all replies that are received; outlives the client. Null: as much as they take.
  ReplyRoom* reply_room = nullptr;
};

class LeanClient final : public Client {
 public:
  // `loop` must outlive the client.
  explicit LeanClient(Loop& loop, LeanClientOptions options = {});
  ~LeanClient() override;

  // A request with an https URL fails with kTls.
  CallId send(ClientRequest request, Done done) override;
  void cancel(CallId call) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace windrow::http
