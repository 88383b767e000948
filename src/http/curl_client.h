// CurlClient: calls to any HTTP server, by libcurl's multi interface on a Loop. Keep-alive, HTTP/2
// where a TLS server offers it, the system's certificates, proxies, compression.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/loop.h"
#include "http/proxy.h"

namespace windrow::http {

struct CurlClientOptions {
  ProxySettings proxies;
  // A file of certificates (PEM) that are trusted instead of the system's; "": the system's.
  std::string ca_file;
  // Connections kept open for later calls, of all hosts together.
  size_t connections_idle_max = 4096;
};

class CurlClient final : public Client {
 public:
  // `loop` must outlive the client.
  CurlClient(Loop& loop, CurlClientOptions options);
  ~CurlClient() override;

  CallId send(ClientRequest request, Done done) override;
  void cancel(CallId call) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace windrow::http
