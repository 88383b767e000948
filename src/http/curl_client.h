// CurlClient: calls to any HTTP server, by libcurl's multi interface on a Loop. Keep-alive, HTTP/2
// where a TLS server offers it, the system's certificates, proxies, compression.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/loop.h"
#include "http/proxy.h"
#include "http/reply_room.h"

namespace windrow::http {

struct ClientOptions {
  ProxySettings proxies;  // as read_proxy_settings reads them
  // A file of certificates (PEM) that are trusted instead of the system's; "": the system's.
  std::string ca_file;
  // Connections that may be open, of all hosts together. A call that needs one more closes the one
  // that rests longest; where none rests it waits for one.
  size_t connections_max = size_t{1} << 16;

  // Of all replies that are received; outlives the client. Null: as much as they take.
  ReplyRoom* reply_room = nullptr;
};

class CurlClient final : public Client {
 public:
  // `loop` must outlive the client.
  CurlClient(Loop& loop, ClientOptions options);
  ~CurlClient() override;

  CallId send(ClientRequest request, Done done) override;
  void cancel(CallId call) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace windrow::http
